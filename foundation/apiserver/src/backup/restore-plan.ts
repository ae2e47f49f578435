// The plan of a restore, computed from the current objects and those of the backup. Pure.
import { isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { systemNamespaces } from '../objects/namespace-rules.ts'
import type { Entry, Write } from '../storage/store.ts'
import type { Backup } from './backup-file.ts'

/** The number of objects that a restore creates, replaces, deletes and keeps. */
export interface RestoreCounts {
  readonly create: number
  readonly replace: number
  readonly delete: number
  readonly keep: number
}

/** The plan of a restore. */
export interface RestorePlan {
  /** The writes in order: deletions, then CRDs and namespaces, then the rest. */
  readonly writes: readonly Write[]
  readonly counts: RestoreCounts
  /** Existing objects that neither the server nor its controllers created; Events are not counted. */
  readonly foreign: readonly Entry[]
}

/** Field managers of the objects that every start creates: these neither block a restore nor are deleted by one. */
const installers: ReadonlySet<string> = new Set([
  'kube-apiserver',
  'kube-controller-manager',
  'clusterrole-aggregation-controller',
  'fairlead-up',
  'fairlead-crds',
  'fairlead-defaults',
])
/** Prefix of the field managers of our controllers. */
const ownPrefix = 'fairlead-'
const events: ReadonlySet<string> = new Set(['events.', 'events.events.k8s.io'])
/** Resources that other objects depend on. */
const first: readonly string[] = ['customresourcedefinitions.apiextensions.k8s.io', 'namespaces.']

/** Plans a restore. Its result is the objects of the backup and those that the server creates for itself. */
export function planRestore(current: readonly Entry[], backup: Backup): RestorePlan {
  const wanted = new Map(backup.entries.map((entry) => [idOf(entry), entry]))
  const existing = new Map(current.map((entry) => [idOf(entry), entry]))
  const isKept = keptFor(wanted, current)
  const deletions: Write[] = []
  const kept = { keep: 0, delete: 0, create: 0, replace: 0 }
  for (const entry of current) {
    if (wanted.has(idOf(entry))) continue
    if (isKept(entry)) {
      kept.keep++
      continue
    }
    kept.delete++
    deletions.push(deletionOf(entry))
  }
  const puts: Write[] = []
  for (const entry of inOrder(backup.entries)) {
    const { resource, key, object } = entry
    const old = existing.get(idOf(entry))
    if (old === undefined) {
      kept.create++
      puts.push({ resource, key, expected: 0, object })
    } else if (jsonEqual(old.object, object)) {
      kept.keep++
    } else {
      kept.replace++
      // Another uid is another object: watchers must receive a DELETED event for the old one.
      const isSame = uidOf(old.object) === uidOf(object)
      if (!isSame) puts.push(deletionOf(old))
      puts.push({ resource, key, expected: isSame ? old.revision : 0, object })
    }
  }
  return { writes: [...deletions, ...puts], counts: kept, foreign: current.filter(isForeign) }
}

function deletionOf({ resource, key, revision }: Entry): Write {
  return { resource, key, expected: revision, object: undefined }
}

function inOrder(entries: readonly Entry[]): readonly Entry[] {
  return [
    ...first.flatMap((resource) => entries.filter((entry) => entry.resource === resource)),
    ...entries.filter((entry) => !first.includes(entry.resource)),
  ]
}

/**
 * Returns the predicate for objects that are kept although the backup lacks them: the server's own, unless their
 * namespace is deleted.
 */
function keptFor(wanted: ReadonlyMap<string, Entry>, current: readonly Entry[]): (entry: Entry) => boolean {
  const namespaces = new Set(
    [...wanted.values(), ...current.filter(isInstalled)].flatMap(({ resource, key }) =>
      resource === 'namespaces.' ? [key] : [],
    ),
  )
  return (entry) => {
    const slash = entry.key.indexOf('/')
    return isInstalled(entry) && (slash < 0 || namespaces.has(entry.key.slice(0, slash)))
  }
}

function isInstalled({ resource, key, object }: Entry): boolean {
  const managers = managersOf(object)
  if (managers.length > 0) return managers.every((manager) => installers.has(manager))
  // An object without fields has no managers.
  if (resource === 'namespaces.') return systemNamespaces.includes(key)
  if (resource === 'serviceaccounts.') return key.endsWith('/default')
  return labelsOf(object)['kubernetes.io/bootstrapping'] !== undefined
}

function isForeign(entry: Entry): boolean {
  if (events.has(entry.resource) || isInstalled(entry)) return false
  const managers = managersOf(entry.object)
  // A namespace without fields may be lost; the objects in it are judged themselves.
  if (managers.length === 0) return entry.resource !== 'namespaces.'
  return !managers.every((name) => installers.has(name) || name.startsWith(ownPrefix))
}

function idOf({ resource, key }: Entry): string {
  return `${resource}\0${key}`
}

function metadataOf(object: JsonObject): JsonObject {
  const { metadata } = object
  return isJsonObject(metadata) ? metadata : {}
}

function uidOf(object: JsonObject): JsonValue | undefined {
  return metadataOf(object)['uid']
}

function labelsOf(object: JsonObject): JsonObject {
  const { labels } = metadataOf(object)
  return isJsonObject(labels) ? labels : {}
}

/** Returns the field managers of an object, without those of subresources. */
function managersOf(object: JsonObject): readonly string[] {
  const { managedFields } = metadataOf(object)
  if (!Array.isArray(managedFields)) return []
  return managedFields.flatMap((entry) =>
    isJsonObject(entry) && typeof entry['manager'] === 'string' && entry['subresource'] === undefined
      ? [entry['manager']]
      : [],
  )
}
