// The part of revisions that git does not hold: labels, annotations, owners, finalizers, and the outcome of the
// last render. Kept in PackageRev objects, one per revision, as Porch does.
import { kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { asJson, isAlreadyExists, isConflict, isNotFound, jsonEqual } from '@fairlead/kube'
import type { JsonObject, KubeObject, ObjectMeta } from '@fairlead/kube'
import { configGroup } from '../api.ts'
import type { RenderReport } from '../api.ts'
import type { ConflictReport } from '../engine/merge3/conflict-report.ts'

/** Metadata of a revision that users write. */
export type KeptMetadata = Pick<
  ObjectMeta,
  | 'labels'
  | 'annotations'
  | 'finalizers'
  | 'ownerReferences'
  | 'managedFields'
  | 'generation'
  | 'deletionTimestamp'
  | 'deletionGracePeriodSeconds'
>

/** The state of a revision beside its content. */
export interface RevisionState {
  readonly metadata: KeptMetadata
  /** Field managers of the PackageRevisionResources. */
  readonly resourcesMetadata?: KeptMetadata
  readonly renderStatus?: RenderReport
  /** Of a revision made by an upgrade. */
  readonly merge?: ConflictReport
}

interface PackageRev extends KubeObject {
  readonly spec?: RevisionState
}

const PackageRevKind: Kind<PackageRev> = kind(`${configGroup}/v1alpha1`, 'PackageRev', {
  plural: 'packagerevs',
  namespaced: true,
})

/** The state of a revision that has none. */
export const noState: RevisionState = { metadata: {} }

/** States of all revisions, in memory and as objects. This process is the only writer. */
export class RevisionStates {
  readonly #client: Client
  #objects = new Map<string, PackageRev>()
  #loading: Promise<void> | undefined
  /** The last change of each state that is being changed. */
  readonly #last = new Map<string, Promise<void>>()
  /** States of revisions that are being created, with the number of attempts. */
  readonly #kept = new Map<string, number>()
  /** States whose revisions the last read of their repository did not have. */
  readonly #orphans = new Set<string>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Reads all states, once. Failed reads are tried again by the next call. @throws StatusError */
  async load(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    await this.#loading
  }

  async #load(): Promise<void> {
    const { items } = await this.#client.list(PackageRevKind)
    this.#objects = new Map(items.map((object) => [keyOf(object.metadata.namespace!, object.metadata.name!), object]))
  }

  get(namespace: string, name: string): RevisionState {
    return this.#objects.get(keyOf(namespace, name))?.spec ?? noState
  }

  /** Resolves when no change of a revision's state is under way. */
  async settled(namespace: string, name: string): Promise<void> {
    await this.#last.get(keyOf(namespace, name))?.catch(() => undefined)
  }

  /** Stores the state of a revision. */
  set(namespace: string, name: string, state: RevisionState): Promise<void> {
    return this.change(namespace, name, () => state)
  }

  /** Stores a changed state of a revision; changes of one revision are made one after the other. */
  change(namespace: string, name: string, edit: (state: RevisionState) => RevisionState): Promise<void> {
    return this.#inOrder(keyOf(namespace, name), async (before) => {
      const state = edit(before?.spec ?? noState)
      const spec = asJson(state as unknown as KubeObject)
      if (jsonEqual(spec, (before?.spec ?? noState) as unknown as JsonObject)) return before
      const object: PackageRev = {
        apiVersion: `${configGroup}/v1alpha1`,
        kind: 'PackageRev',
        metadata: before?.metadata ?? { name, namespace },
        spec: state,
      }
      return this.#write(object, before !== undefined)
    })
  }

  /** Removes the state of a deleted revision. */
  async delete(namespace: string, name: string): Promise<void> {
    await this.#inOrder(keyOf(namespace, name), async (object) => {
      if (object === undefined) return undefined
      const { uid, resourceVersion } = object.metadata
      try {
        await this.#client.delete(PackageRevKind, { namespace, name }, { preconditions: { uid, resourceVersion } })
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
      return undefined
    })
    this.#orphans.delete(keyOf(namespace, name))
  }

  /** Keeps the state of a revision that is being created, until disposed. */
  keep(namespace: string, name: string): Disposable {
    const key = keyOf(namespace, name)
    this.#kept.set(key, (this.#kept.get(key) ?? 0) + 1)
    return {
      [Symbol.dispose]: () => {
        const others = this.#kept.get(key)! - 1
        if (others > 0) this.#kept.set(key, others)
        else this.#kept.delete(key)
      },
    }
  }

  /**
   * Removes the states of a repository's revisions that others have deleted in git, as Porch does. `revisions` are
   * those of a complete read; a state goes when two reads after each other lack its revision: a push whose response was
   * lost may arrive late. @throws StatusError
   */
  async prune(
    { namespace, repository }: { readonly namespace: string; readonly repository: string },
    revisions: ReadonlyMap<string, unknown>,
  ): Promise<void> {
    for (const name of this.#namesOf(namespace, repository)) {
      const key = keyOf(namespace, name)
      if (revisions.has(name) || this.#kept.has(key)) this.#orphans.delete(key)
      else if (this.#orphans.has(key)) await this.delete(namespace, name)
      else this.#orphans.add(key)
    }
  }

  /** Removes the states of a repository that is not registered any more. @throws StatusError */
  async deleteAll(namespace: string, repository: string): Promise<void> {
    for (const name of this.#namesOf(namespace, repository)) await this.delete(namespace, name)
  }

  /** Returns the names of the revisions of a repository that have a state. */
  #namesOf(namespace: string, repository: string): readonly string[] {
    const prefix = keyOf(namespace, `${repository}.`)
    return [...this.#objects.keys()].flatMap((key) => (key.startsWith(prefix) ? [key.slice(namespace.length + 1)] : []))
  }

  async #inOrder(key: string, run: (object: PackageRev | undefined) => Promise<PackageRev | undefined>): Promise<void> {
    const previous = this.#last.get(key)
    const change = (async () => {
      await previous?.catch(() => undefined)
      const object = await run(this.#objects.get(key))
      if (object === undefined) this.#objects.delete(key)
      else this.#objects.set(key, object)
    })()
    this.#last.set(key, change)
    try {
      await change
    } finally {
      if (this.#last.get(key) === change) this.#last.delete(key)
    }
  }

  async #write(object: PackageRev, exists: boolean): Promise<PackageRev> {
    const { name, namespace } = object.metadata
    try {
      return await (exists ? this.#client.update(object) : this.#client.create(object))
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error) && !isAlreadyExists(error)) throw error
      // Someone else has changed or deleted the object; this process knows the state.
      const current = await this.#client.find(PackageRevKind, { namespace: namespace!, name: name! })
      if (current === undefined)
        return await this.#client.create<PackageRev>({ ...object, metadata: { name, namespace } })
      return await this.#client.update<PackageRev>({ ...object, metadata: current.metadata })
    }
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`
}
