// Fields of maps, and the merge comment that names a resource's upstream.
import type { Node, Pair, YAMLMap } from 'yaml'
import { keyComment } from './comments.ts'
import { keyOf } from './json-value.ts'

/** Returns the pair of a map by the name of its key. */
export function pairOf(map: YAMLMap, name: string): Pair<Node, Node | null> | undefined {
  return (map.items as Pair<Node, Node | null>[]).find(({ key }) => keyOf(key) === name)
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
