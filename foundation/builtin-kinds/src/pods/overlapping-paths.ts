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

function overlaps(paths: readonly SourcedPath[]): string[] {
  const seen: SourcedPath[] = []
  return paths.flatMap(({ path, source }) => {
    const next = { path: path.replace(/\/+$/, ''), source }
    const found = seen.filter((other) => next.path !== '' && isWithin(next.path, other.path))
    seen.push(next)
    return found.map((other) => `${shown(next)} with ${shown(other)}`)
  })
}

function isWithin(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
}

function shown({ path, source }: SourcedPath): string {
  return source === '' ? goQuote(path) : `${goQuote(path)} (${source})`
}
