// Identity of resources, and the names that a merge matches them by.
import type { Node, Pair, YAMLMap } from 'yaml'
import { parseApiVersion, yamlLibrary } from '@fairlead/kube'
import { keyComment } from './comments.ts'
import { keyOf } from './json-value.ts'

/** The fields that name a resource; a missing one is an empty string. */
export interface ResourceIdentity {
  readonly apiVersion: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Returns the identity of a resource; undefined when the root is no map with `apiVersion`, `kind` and `metadata.name`. */
export function resourceIdentity(root: YAMLMap | undefined): ResourceIdentity | undefined {
  if (root === undefined) return undefined
  const metadata = pairOf(root, 'metadata')?.value
  if (!yamlLibrary().isMap(metadata)) return undefined
  const apiVersion = stringOf(root, 'apiVersion')
  const kind = stringOf(root, 'kind')
  const name = stringOf(metadata, 'name')
  if (apiVersion === '' || kind === '' || name === '') return undefined
  const { group } = parseApiVersion(apiVersion)
  return { apiVersion, group, kind, namespace: stringOf(metadata, 'namespace'), name }
}

/** Returns the pair of a map by the name of its key. */
export function pairOf(map: YAMLMap, name: string): Pair<Node, Node | null> | undefined {
  return (map.items as Pair<Node, Node | null>[]).find(({ key }) => keyOf(key) === name)
}

/** Returns the string at a key as it stands in the source; empty when there is none. */
function stringOf(map: YAMLMap, name: string): string {
  const value = pairOf(map, name)?.value
  return yamlLibrary().isScalar(value) && value.value !== null ? (value.source ?? String(value.value)) : ''
}

/**
 * Returns namespace and name of the merge comment on the `metadata` line, `# kpt-merge: <namespace>/<name>`: where the
 * resource had these upstream, whatever it is called here.
 */
export function mergeComment(root: YAMLMap): { namespace: string; name: string } | undefined {
  const comment = keyComment(pairOf(root, 'metadata')?.key)
  const found = comment === undefined ? null : /^\s*kpt-merge:\s*([^/]*)\/(.*?)\s*$/.exec(comment)
  return found === null ? undefined : { namespace: found[1]!, name: found[2]! }
}
