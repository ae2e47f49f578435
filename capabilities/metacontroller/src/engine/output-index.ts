// The outputs of all parents of one controller by parent and group, with the counts of each parent. Updated by single
// changes; pure, like selection.ts.
import type { KubeObject } from '@fairlead/kube'
import type { OutputRole } from './group.ts'
import { outputRole } from './group.ts'
import type { Identity } from './identity.ts'
import { OutputCounts } from './status.ts'
import { tagOf } from './tag.ts'

interface IndexedOutput {
  readonly kind: number
  readonly object: KubeObject
  readonly role: OutputRole
  /** The parent that counts it, whichever controller made it: a uid and its key. */
  readonly counted: { readonly uid: string; readonly owner: string } | undefined
}

interface Group {
  readonly input: Identity
  readonly outputs: Set<IndexedOutput>
}

/** A parent, by its uid and its identity as {@link formatIdentity} returns it. */
export interface ParentRef {
  readonly uid: string
  readonly identity: string
}

/** Outputs by owner (a parent's uid and identity, or the identity of the parent that an orphan names) and map key. */
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

  /**
   * Adds, changes or removes (`object` undefined) an object of an output kind. Returns its roles before and after, and
   * the uids of the parents whose counts changed.
   */
  set(
    kind: number,
    key: string,
    object: KubeObject | undefined,
  ): { before: OutputRole | undefined; after: OutputRole | undefined; counted: readonly string[] } {
    const known = this.#outputs[kind]
    const old = known?.get(key)
    if (old !== undefined) {
      known?.delete(key)
      this.#remove(old)
    }
    const indexed = object === undefined ? undefined : this.#indexed(kind, object)
    if (indexed !== undefined && (indexed.role.role !== 'foreign' || indexed.counted !== undefined)) {
      known?.set(key, indexed)
      this.#add(indexed)
    }
    const counted = [old?.counted?.uid, indexed?.counted?.uid].filter((uid) => uid !== undefined)
    return { before: old?.role, after: indexed?.role, counted }
  }

  /** Returns the role of an object. */
  roleOf(object: KubeObject): OutputRole {
    return outputRole(object, this.#controllerName)
  }

  /** Returns the outputs of a group, of all kinds. */
  outputsOf(parent: ParentRef, mapKey: string): readonly KubeObject[] {
    return objects(this.#owned.groups(parentKey(parent)).get(mapKey))
  }

  /** Returns the orphans of a group that name this parent. */
  orphansOf(parent: ParentRef, mapKey: string): readonly KubeObject[] {
    return objects(this.#orphans.groups(parent.identity).get(mapKey))
  }

  /** Returns the groups of a parent that have outputs, or orphans that it may adopt: map keys with their inputs. */
  groupsOf(parent: ParentRef): ReadonlyMap<string, Identity> {
    const found = new Map<string, Identity>()
    for (const [mapKey, { input }] of this.#owned.groups(parentKey(parent))) found.set(mapKey, input)
    for (const [mapKey, { input }] of this.#orphans.groups(parent.identity)) found.set(mapKey, input)
    return found
  }

  /** Returns the input of a group that has outputs, or orphans that the parent may adopt. */
  inputOf(parent: ParentRef, mapKey: string): Identity | undefined {
    return (
      this.#owned.groups(parentKey(parent)).get(mapKey)?.input ??
      this.#orphans.groups(parent.identity).get(mapKey)?.input
    )
  }

  /** Returns the number of groups of a parent that have outputs but no input. */
  countDetached(parent: ParentRef, inputs: ReadonlyMap<string, unknown>): number {
    let count = 0
    for (const mapKey of this.#owned.groups(parentKey(parent)).keys()) if (!inputs.has(mapKey)) count++
    return count
  }

  /** Returns the counts of a parent: of its outputs of all controllers. */
  countsOf(parent: ParentRef): OutputCounts {
    return this.#counts.get(parentKey(parent)) ?? new OutputCounts(this.#kinds)
  }

  #indexed(kind: number, object: KubeObject): IndexedOutput {
    const role = outputRole(object, this.#controllerName)
    const inAny = outputRole(object, tagOf(object)?.controller ?? '')
    const counted =
      inAny.role === 'output' ? { uid: inAny.parentUid, owner: ownerKey(inAny.parentUid, inAny.parent) } : undefined
    return { kind, object, role, counted }
  }

  #add(indexed: IndexedOutput): void {
    const { role, kind, object, counted } = indexed
    if (role.role === 'orphan') this.#orphans.add(role.parent, role.mapKey, role.input, indexed)
    if (role.role === 'output') this.#owned.add(ownerKey(role.parentUid, role.parent), role.mapKey, role.input, indexed)
    if (counted === undefined) return
    let counts = this.#counts.get(counted.owner)
    if (counts === undefined) this.#counts.set(counted.owner, (counts = new OutputCounts(this.#kinds)))
    counts.count(kind, object, 1)
  }

  #remove(indexed: IndexedOutput): void {
    const { role, kind, object, counted } = indexed
    if (role.role === 'orphan') this.#orphans.remove(role.parent, role.mapKey, indexed)
    if (role.role === 'output') this.#owned.remove(ownerKey(role.parentUid, role.parent), role.mapKey, indexed)
    const counts = counted === undefined ? undefined : this.#counts.get(counted.owner)
    if (counted === undefined || counts === undefined) return
    counts.count(kind, object, -1)
    if (counts.isEmpty) this.#counts.delete(counted.owner)
  }
}

function parentKey({ uid, identity }: ParentRef): string {
  return ownerKey(uid, identity)
}

/** Returns the key of a parent: a uid alone says nothing about the namespace that it is in. */
function ownerKey(uid: string, identity: string): string {
  return `${uid} ${identity}`
}

function objects(group: Group | undefined): readonly KubeObject[] {
  return group === undefined ? [] : [...group.outputs].map(({ object }) => object)
}
