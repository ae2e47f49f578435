// The outputs of all parents of one controller, kept up to date by single changes: by parent and group, with the counts of each parent.
// Pure bookkeeping, like selection.ts.
import type { KubeObject } from '@fairlead/kube'
import type { OutputRole } from './group.ts'
import { outputRole } from './group.ts'
import type { Identity } from './identity.ts'
import { OutputCounts } from './status.ts'

interface Recorded {
  readonly kind: number
  readonly object: KubeObject
  readonly role: OutputRole
}

interface Group {
  readonly input: Identity
  readonly members: Set<Recorded>
}

/** Outputs by owner (a parent's uid, or the identity of the parent that an orphan names) and map key. */
class GroupsByOwner {
  readonly #owners = new Map<string, Map<string, Group>>()

  add(owner: string, mapKey: string, input: Identity, recorded: Recorded): void {
    let groups = this.#owners.get(owner)
    if (groups === undefined) this.#owners.set(owner, (groups = new Map()))
    const group = groups.get(mapKey)
    if (group === undefined) groups.set(mapKey, { input, members: new Set([recorded]) })
    else group.members.add(recorded)
  }

  remove(owner: string, mapKey: string, recorded: Recorded): void {
    const groups = this.#owners.get(owner)
    const group = groups?.get(mapKey)
    group?.members.delete(recorded)
    if (group?.members.size === 0) groups?.delete(mapKey)
    if (groups?.size === 0) this.#owners.delete(owner)
  }

  groups(owner: string): ReadonlyMap<string, Group> {
    return this.#owners.get(owner) ?? noGroups
  }
}

const noGroups: ReadonlyMap<string, Group> = new Map()

/** The book. Kinds are positions in `spec.outputResources`. */
export class OutputIndex {
  readonly #controllerName: string
  readonly #kinds: number
  readonly #recorded: readonly Map<string, Recorded>[]
  readonly #owned = new GroupsByOwner()
  readonly #orphans = new GroupsByOwner()
  readonly #tallies = new Map<string, OutputCounts>()

  constructor(controllerName: string, kinds: number) {
    this.#controllerName = controllerName
    this.#kinds = kinds
    this.#recorded = Array.from({ length: kinds }, () => new Map<string, Recorded>())
  }

  /** An object of an output kind came, changed or went (`object` undefined). Returns what it was and what it is. */
  set(
    kind: number,
    key: string,
    object: KubeObject | undefined,
  ): { before: OutputRole | undefined; after: OutputRole | undefined } {
    const known = this.#recorded[kind]
    const old = known?.get(key)
    if (old !== undefined) {
      known?.delete(key)
      this.#take(old)
    }
    if (object === undefined) return { before: old?.role, after: undefined }
    const recorded: Recorded = { kind, object, role: outputRole(object, this.#controllerName) }
    if (recorded.role.role === 'foreign') return { before: old?.role, after: recorded.role }
    known?.set(key, recorded)
    this.#put(recorded)
    return { before: old?.role, after: recorded.role }
  }

  /** Whose an object is. */
  roleOf(object: KubeObject): OutputRole {
    return outputRole(object, this.#controllerName)
  }

  /** The outputs of a group, of all kinds. */
  outputsOf(parentUid: string, mapKey: string): readonly KubeObject[] {
    return objects(this.#owned.groups(parentUid).get(mapKey))
  }

  /** Orphans of a group that name this parent. */
  orphansOf(parentIdentity: string, mapKey: string): readonly KubeObject[] {
    return objects(this.#orphans.groups(parentIdentity).get(mapKey))
  }

  /** The groups of a parent that have outputs, or orphans that it may adopt: map keys and the inputs they stand for. */
  groupsOf(parentUid: string, parentIdentity: string): ReadonlyMap<string, Identity> {
    const found = new Map<string, Identity>()
    for (const [mapKey, { input }] of this.#owned.groups(parentUid)) found.set(mapKey, input)
    for (const [mapKey, { input }] of this.#orphans.groups(parentIdentity)) found.set(mapKey, input)
    return found
  }

  /** The input that a group with outputs, or with orphans that the parent may adopt, stands for. */
  inputOf(parentUid: string, parentIdentity: string, mapKey: string): Identity | undefined {
    return this.#owned.groups(parentUid).get(mapKey)?.input ?? this.#orphans.groups(parentIdentity).get(mapKey)?.input
  }

  /** How many groups of a parent have outputs and are not among its inputs. */
  countDetached(parentUid: string, inputs: ReadonlyMap<string, unknown>): number {
    let count = 0
    for (const mapKey of this.#owned.groups(parentUid).keys()) if (!inputs.has(mapKey)) count++
    return count
  }

  /** The counts of a parent. */
  countsOf(parentUid: string): OutputCounts {
    return this.#tallies.get(parentUid) ?? new OutputCounts(this.#kinds)
  }

  #put(recorded: Recorded): void {
    const { role, kind, object } = recorded
    if (role.role === 'orphan') this.#orphans.add(role.parent, role.mapKey, role.input, recorded)
    if (role.role !== 'output') return
    this.#owned.add(role.parentUid, role.mapKey, role.input, recorded)
    let tally = this.#tallies.get(role.parentUid)
    if (tally === undefined) this.#tallies.set(role.parentUid, (tally = new OutputCounts(this.#kinds)))
    tally.count(kind, object, 1)
  }

  #take(recorded: Recorded): void {
    const { role, kind, object } = recorded
    if (role.role === 'orphan') this.#orphans.remove(role.parent, role.mapKey, recorded)
    if (role.role !== 'output') return
    this.#owned.remove(role.parentUid, role.mapKey, recorded)
    this.#tallies.get(role.parentUid)?.count(kind, object, -1)
    if (this.#owned.groups(role.parentUid).size === 0) this.#tallies.delete(role.parentUid)
  }
}

function objects(group: Group | undefined): readonly KubeObject[] {
  return group === undefined ? [] : [...group.members].map(({ object }) => object)
}
