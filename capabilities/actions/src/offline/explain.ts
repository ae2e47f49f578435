// Explains the actions of a resource from files, without a cluster. Start with explain.
import type { KubeObject } from '@fairlead/kube'
import { CommandError, CrdSchemas, readManifests, validManifests } from '@fairlead/offline'
import type { KindActionMappingObject } from '../api.ts'
import { defaultMapping } from '../defaults/default-objects.ts'
import { fixedCatalog } from '../engine/catalog.ts'
import { whyOf } from '../engine/menu.ts'
import type { Why } from '../engine/menu.ts'
import { crds } from '../generated/crds.ts'
import { wildcardHint } from './wildcard-hint.ts'

/** The files of an explanation. Mappings and maps may be in any of them. */
export interface ExplainFiles {
  /** Files with the one resource. */
  readonly resource: readonly string[]
  readonly mappings: readonly string[]
  readonly maps: readonly string[]
}

/** The menu of the resource with its provenance. */
export interface Explanation {
  readonly why: Why
  /** The files have ConfigMaps: candidates were looked up and merged. */
  readonly hasMaps: boolean
}

/**
 * Resolves the actions of the resource, by the default mapping when the files have no mapping.
 * @throws CommandError when there is not exactly one resource, ManifestError for invalid files
 */
export async function explain(files: ExplainFiles, stdin: () => Promise<string>): Promise<Explanation> {
  const own = await read(files.resource, stdin)
  const others = await read([...files.mappings, ...files.maps], stdin)
  const resource = onlyResource(own, files.resource)
  const all = [...own, ...others]
  const mappings = all.filter(({ kind }) => kind === 'KindActionMapping') as KindActionMappingObject[]
  const maps = all.filter(({ kind }) => kind === 'ConfigMap')
  const source = fixedCatalog(mappings.length > 0 ? mappings : [defaultMapping], maps)
  return { why: whyOf(source.catalog().resolve(resource), resource, () => true), hasMaps: maps.length > 0 }
}

async function read(paths: readonly string[], stdin: () => Promise<string>): Promise<readonly KubeObject[]> {
  const manifests = await readManifests(paths, { stdin, hint: wildcardHint })
  return validManifests(manifests, new CrdSchemas(crds)).map(({ object }) => object)
}

function onlyResource(objects: readonly KubeObject[], files: readonly string[]): KubeObject {
  const [resource, ...more] = objects.filter(({ kind }) => kind !== 'KindActionMapping' && kind !== 'ConfigMap')
  if (resource === undefined) throw new CommandError(`There is no resource in ${files.join(', ')}`)
  if (more.length === 0) return resource
  const names = more.map(({ kind, metadata }) => `${kind} ${metadata.name ?? ''}`)
  throw new CommandError(`There is more than one resource in ${files.join(', ')}: ${names.join(', ')}`)
}
