// Warnings about files of a volume with equal paths, or where one is the folder of another: only one of them will exist
// (pkg/api/pod/warnings.go, v1.35).
import type { JsonObject } from '@fairlead/kube'
import { goQuote } from '@fairlead/kube'
import { has, objectAt, objectsAt, stringAt } from '../fields.ts'

interface SourcedPath {
  readonly path: string
  readonly source: string
}

/** Returns the warnings about the volumes of a pod. */
export function overlappingPathWarnings(volumes: readonly JsonObject[]): string[] {
  return volumes.flatMap((volume) => {
    const name = goQuote(stringAt(volume, 'name'))
    const about = (description: string, paths: readonly SourcedPath[]): string[] =>
      overlaps(paths).map((body) => `volume ${name} (${description}): overlapping paths: ${body}`)
    const configMap = objectAt(volume, 'configMap')
    const secret = objectAt(volume, 'secret')
    const sources = objectsAt(volume, 'projected', 'sources')
    return [
      ...about(`ConfigMap ${goQuote(stringAt(configMap, 'name'))}`, itemPaths(configMap, '')),
      ...about(`Secret ${goQuote(stringAt(secret, 'secretName'))}`, itemPaths(secret, '')),
      ...about('DownwardAPI', itemPaths(objectAt(volume, 'downwardAPI'), '')),
      ...sources
        .filter((source) => Object.keys(source).length === 0)
        .map(() => `volume ${name} (Projected) has no sources provided`),
      ...about('Projected', sources.flatMap(projectedPaths)),
    ]
  })
}

function itemPaths(source: JsonObject, description: string): SourcedPath[] {
  return objectsAt(source, 'items').map((item) => ({ path: stringAt(item, 'path'), source: description }))
}

function projectedPaths(source: JsonObject): SourcedPath[] {
  const named = (kind: string, field: string): SourcedPath[] =>
    itemPaths(objectAt(source, field), `${kind} ${goQuote(stringAt(source, field, 'name'))}`)
  if (has(source, 'configMap')) return named('ConfigMap', 'configMap')
  if (has(source, 'secret')) return named('Secret', 'secret')
  if (has(source, 'downwardAPI')) return itemPaths(objectAt(source, 'downwardAPI'), 'DownwardAPI')
  if (has(source, 'serviceAccountToken'))
    return [{ path: stringAt(source, 'serviceAccountToken', 'path'), source: 'ServiceAccountToken' }]
  return []
}

/** The number of overlaps that are reported of one volume; a response carries no more. */
const overlapLimit = 100

/** A folder or file of the paths seen so far. */
class Folder {
  readonly children = new Map<string, Folder>()
  /** Indices of the paths that end here. */
  readonly here: number[] = []
  /** Indices of the paths that end below. */
  readonly below: number[] = []
}

/** Returns the pairs of overlapping paths, each path with the earlier ones, up to a limit. */
function overlaps(paths: readonly SourcedPath[]): string[] {
  const root = new Folder()
  const trimmed = paths.map(({ path, source }) => ({ path: path.replace(/\/+$/, ''), source }))
  const found: string[] = []
  for (const [index, next] of trimmed.entries()) {
    const others: number[] = []
    const above: Folder[] = []
    let folder = root
    for (const name of next.path.split('/')) {
      above.push(folder)
      others.push(...folder.here.slice(0, overlapLimit))
      let child = folder.children.get(name)
      if (child === undefined) folder.children.set(name, (child = new Folder()))
      folder = child
    }
    others.push(...folder.here.slice(0, overlapLimit), ...folder.below.slice(0, overlapLimit))
    for (const passed of above) passed.below.push(index)
    folder.here.push(index)
    if (next.path === '') continue
    for (const other of others.sort((a, b) => a - b)) {
      if (found.length === overlapLimit) return found
      found.push(`${shown(next)} with ${shown(trimmed[other]!)}`)
    }
  }
  return found
}

function shown({ path, source }: SourcedPath): string {
  return source === '' ? goQuote(path) : `${goQuote(path)} (${source})`
}
