// What restoring does to a store: decided from what is there and what the backup holds. Pure.
import { isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { systemNamespaces } from '../objects/namespace-rules.ts'
import type { Entry, Write } from '../storage/store.ts'
import type { Backup } from './backup-file.ts'

/** How many objects a restore creates, replaces, deletes and leaves as they are. */
export interface RestoreCounts {
  readonly create: number
  readonly replace: number
  readonly delete: number
  readonly keep: number
}

/** What a restore would do. */
export interface RestorePlan {
  /** In the order in which they are to be taken: deletions, definitions and namespaces, everything else. */
  readonly writes: readonly Write[]
  readonly counts: RestoreCounts
  /** Objects that are there already and that neither the server nor its controllers made; events do not count. */
  readonly foreign: readonly Entry[]
}

/** What sets a server up makes these, on every start: they are no reason to refuse, and stay where the backup lacks them. */
const installers: ReadonlySet<string> = new Set([
  'kube-apiserver',
  'kube-controller-manager',
  'clusterrole-aggregation-controller',
  'fairlead-up',
  'fairlead-crds',
  'fairlead-defaults',
])
/** Field managers of controllers of ours. */
const ownPrefix = 'fairlead-'
const events: ReadonlySet<string> = new Set(['events.', 'events.events.k8s.io'])
/** Kinds that others are found by. */
const first: readonly string[] = ['customresourcedefinitions.apiextensions.k8s.io', 'namespaces.']

/** Decides. Afterwards the store holds what the backup holds, and what its server made for itself. */
export function planRestore(current: readonly Entry[], backup: Backup): RestorePlan {
  const wanted = new Map(backup.entries.map((entry) => [idOf(entry), entry]))
  const there = new Map(current.map((entry) => [idOf(entry), entry]))
  const stays = staysFor(wanted, current)
  const deletions: Write[] = []
  const kept = { keep: 0, delete: 0, create: 0, replace: 0 }
  for (const entry of current) {
    if (wanted.has(idOf(entry))) continue
    if (stays(entry)) {
      kept.keep++
      continue
    }
    kept.delete++
    deletions.push(deletionOf(entry))
  }
  const puts: Write[] = []
  for (const entry of inOrder(backup.entries)) {
    const { resource, key, object } = entry
    const old = there.get(idOf(entry))
    if (old === undefined) {
      kept.create++
      puts.push({ resource, key, expected: 0, object })
    } else if (jsonEqual(old.object, object)) {
      kept.keep++
    } else {
      kept.replace++
      // Another uid is another object: whoever watches has to see the old one go.
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

/** Which objects stay though the backup lacks them: the server's own, unless their namespace goes. */
function staysFor(wanted: ReadonlyMap<string, Entry>, current: readonly Entry[]): (entry: Entry) => boolean {
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
  // Nobody is a manager of an object without fields.
  if (resource === 'namespaces.') return systemNamespaces.includes(key)
  if (resource === 'serviceaccounts.') return key.endsWith('/default')
  return labelsOf(object)['kubernetes.io/bootstrapping'] !== undefined
}

function isForeign(entry: Entry): boolean {
  if (events.has(entry.resource) || isInstalled(entry)) return false
  const managers = managersOf(entry.object)
  // A namespace without fields is no loss; what is in it speaks for itself.
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

/** Who made an object; who reports in its status does not count. */
function managersOf(object: JsonObject): readonly string[] {
  const { managedFields } = metadataOf(object)
  if (!Array.isArray(managedFields)) return []
  return managedFields.flatMap((entry) =>
    isJsonObject(entry) && typeof entry['manager'] === 'string' && entry['subresource'] === undefined
      ? [entry['manager']]
      : [],
  )
}
