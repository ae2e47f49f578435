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

  /** Returns the counts of a parent. */
  countsOf(parent: ParentRef): OutputCounts {
    return this.#counts.get(parentKey(parent)) ?? new OutputCounts(this.#kinds)
  }

  #add(indexed: IndexedOutput): void {
    const { role, kind, object } = indexed
    if (role.role === 'orphan') this.#orphans.add(role.parent, role.mapKey, role.input, indexed)
    if (role.role !== 'output') return
    const owner = ownerKey(role.parentUid, role.parent)
    this.#owned.add(owner, role.mapKey, role.input, indexed)
    let counts = this.#counts.get(owner)
    if (counts === undefined) this.#counts.set(owner, (counts = new OutputCounts(this.#kinds)))
    counts.count(kind, object, 1)
  }

  #remove(indexed: IndexedOutput): void {
    const { role, kind, object } = indexed
    if (role.role === 'orphan') this.#orphans.remove(role.parent, role.mapKey, indexed)
    if (role.role !== 'output') return
    const owner = ownerKey(role.parentUid, role.parent)
    this.#owned.remove(owner, role.mapKey, indexed)
    this.#counts.get(owner)?.count(kind, object, -1)
    if (this.#owned.groups(owner).size === 0) this.#counts.delete(owner)
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
