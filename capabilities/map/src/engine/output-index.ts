// The outputs of all parents of one controller by parent and group, with the counts of each parent. Updated by single
// changes; pure, like selection.ts.
import type { KubeObject } from '@fairlead/kube'
import type { OutputRole } from './group.ts'
import { outputRole } from './group.ts'
import type { Identity } from './identity.ts'
import { OutputCounts } from './status.ts'

interface IndexedOutput {
  readonly kind: number
  readonly object: KubeObject
  readonly role: OutputRole
}

interface Group {
  readonly input: Identity
  readonly outputs: Set<IndexedOutput>
}

/** Outputs by owner (a parent's uid, or the identity of the parent that an orphan names) and map key. */
class GroupsByOwner {
  readonly #owners = new Map<string, Map<string, Group>>()

  add(owner: string, mapKey: string, input: Identity, indexed: IndexedOutput): void {
    let groups = this.#owners.get(owner)
    if (groups === undefined) this.#owners.set(owner, (groups = new Map()))
    const group = groups.get(mapKey)
    if (group === undefined) groups.set(mapKey, { input, outputs: new Set([indexed]) })
    else group.outputs.add(indexed)
  }

  remove(owner: string, mapKey: string, indexed: IndexedOutput): void {
    const groups = this.#owners.get(owner)
    const group = groups?.get(mapKey)
    group?.outputs.delete(indexed)
    if (group?.outputs.size === 0) groups?.delete(mapKey)
    if (groups?.size === 0) this.#owners.delete(owner)
  }

  groups(owner: string): ReadonlyMap<string, Group> {
    return this.#owners.get(owner) ?? noGroups
  }
}

const noGroups: ReadonlyMap<string, Group> = new Map()

/** The outputs of one controller. Kinds are positions in `spec.outputResources`. */
export class OutputIndex {
  readonly #controllerName: string
  readonly #kinds: number
  readonly #outputs: readonly Map<string, IndexedOutput>[]
  readonly #owned = new GroupsByOwner()
  readonly #orphans = new GroupsByOwner()
  readonly #counts = new Map<string, OutputCounts>()

  constructor(controllerName: string, kinds: number) {
    this.#controllerName = controllerName
    this.#kinds = kinds
    this.#outputs = Array.from({ length: kinds }, () => new Map<string, IndexedOutput>())
  }

  /** Adds, changes or removes (`object` undefined) an object of an output kind. Returns its roles before and after. */
  set(
    kind: number,
    key: string,
    object: KubeObject | undefined,
  ): { before: OutputRole | undefined; after: OutputRole | undefined } {
    const known = this.#outputs[kind]
    const old = known?.get(key)
    if (old !== undefined) {
      known?.delete(key)
      this.#remove(old)
    }
    if (object === undefined) return { before: old?.role, after: undefined }
    const indexed: IndexedOutput = { kind, object, role: outputRole(object, this.#controllerName) }
    if (indexed.role.role === 'foreign') return { before: old?.role, after: indexed.role }
    known?.set(key, indexed)
    this.#add(indexed)
    return { before: old?.role, after: indexed.role }
  }

  /** Returns the role of an object. */
  roleOf(object: KubeObject): OutputRole {
    return outputRole(object, this.#controllerName)
  }

  /** Returns the outputs of a group, of all kinds. */
  outputsOf(parentUid: string, mapKey: string): readonly KubeObject[] {
    return objects(this.#owned.groups(parentUid).get(mapKey))
  }

  /** Returns the orphans of a group that name this parent. */
  orphansOf(parentIdentity: string, mapKey: string): readonly KubeObject[] {
    return objects(this.#orphans.groups(parentIdentity).get(mapKey))
  }

  /** Returns the groups of a parent that have outputs, or orphans that it may adopt: map keys with their inputs. */
  groupsOf(parentUid: string, parentIdentity: string): ReadonlyMap<string, Identity> {
    const found = new Map<string, Identity>()
    for (const [mapKey, { input }] of this.#owned.groups(parentUid)) found.set(mapKey, input)
    for (const [mapKey, { input }] of this.#orphans.groups(parentIdentity)) found.set(mapKey, input)
    return found
  }

  /** Returns the input of a group that has outputs, or orphans that the parent may adopt. */
  inputOf(parentUid: string, parentIdentity: string, mapKey: string): Identity | undefined {
    return this.#owned.groups(parentUid).get(mapKey)?.input ?? this.#orphans.groups(parentIdentity).get(mapKey)?.input
  }

  /** Returns the number of groups of a parent that have outputs but no input. */
  countDetached(parentUid: string, inputs: ReadonlyMap<string, unknown>): number {
    let count = 0
    for (const mapKey of this.#owned.groups(parentUid).keys()) if (!inputs.has(mapKey)) count++
    return count
  }

  /** Returns the counts of a parent. */
  countsOf(parentUid: string): OutputCounts {
    return this.#counts.get(parentUid) ?? new OutputCounts(this.#kinds)
  }

  #add(indexed: IndexedOutput): void {
    const { role, kind, object } = indexed
    if (role.role === 'orphan') this.#orphans.add(role.parent, role.mapKey, role.input, indexed)
    if (role.role !== 'output') return
    this.#owned.add(role.parentUid, role.mapKey, role.input, indexed)
    let counts = this.#counts.get(role.parentUid)
    if (counts === undefined) this.#counts.set(role.parentUid, (counts = new OutputCounts(this.#kinds)))
    counts.count(kind, object, 1)
  }

  #remove(indexed: IndexedOutput): void {
    const { role, kind, object } = indexed
    if (role.role === 'orphan') this.#orphans.remove(role.parent, role.mapKey, indexed)
    if (role.role !== 'output') return
    this.#owned.remove(role.parentUid, role.mapKey, indexed)
    this.#counts.get(role.parentUid)?.count(kind, object, -1)
    if (this.#owned.groups(role.parentUid).size === 0) this.#counts.delete(role.parentUid)
  }
}

function objects(group: Group | undefined): readonly KubeObject[] {
  return group === undefined ? [] : [...group.outputs].map(({ object }) => object)
}
