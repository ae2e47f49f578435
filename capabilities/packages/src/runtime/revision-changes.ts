// Changes of revisions as watches see them: of git, and of the state that git does not hold. A write that changes both
// is one notification.
import type { StorageChange } from '@fairlead/controller'
import { formatKey, jsonEqual } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { PackageRepository } from './package-repository.ts'
import type { Located, Repositories } from './repositories.ts'
import type { Revision, RevisionChange } from './revision.ts'
import { packageRevisionObject, resourcesObject } from './revision-object.ts'
import type { RevisionState, RevisionStates } from './revision-states.ts'

/** Changes of one repository at once above which watches list again: a repository that is read for the first time. */
export const maxNotified = 500

type Listener = (change: StorageChange) => void

/** The listeners of all revisions, and the writes that they are notified of. */
export class RevisionChanges implements Disposable {
  readonly #states: RevisionStates
  readonly #revisionListeners = new Set<Listener>()
  readonly #resourceListeners = new Set<Listener>()
  readonly #subscription: Disposable
  /** States that listeners were notified of, of revisions that are being saved. */
  readonly #shown = new Map<string, { state: RevisionState; saves: number }>()

  constructor(repositories: Repositories, states: RevisionStates) {
    this.#states = states
    this.#subscription = repositories.subscribe((repository, changes) => this.#changed(repository, changes))
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]()
  }

  /** Notifies of changed PackageRevisions. */
  onRevisionObjects(listener: Listener): Disposable {
    this.#revisionListeners.add(listener)
    return { [Symbol.dispose]: () => void this.#revisionListeners.delete(listener) }
  }

  /** Notifies of changed PackageRevisionResources. */
  onResources(listener: Listener): Disposable {
    this.#resourceListeners.add(listener)
    return { [Symbol.dispose]: () => void this.#resourceListeners.delete(listener) }
  }

  /**
   * Writes a revision, and at the same time the fields of its state that `fields` has. When the write fails, the
   * state is again as it was. @throws StatusError, GitError
   */
  async save(
    { repository, revision }: Located,
    fields: Partial<RevisionState>,
    write: () => Promise<Revision>,
  ): Promise<Revision> {
    const { namespace } = repository.settings
    const { name } = revision
    const key = formatKey({ namespace, name })
    const before = this.#states.get(namespace, name)
    const shown = this.#shown.get(key) ?? { state: before, saves: 0 }
    shown.saves++
    this.#shown.set(key, shown)
    try {
      const [written, stored] = await Promise.allSettled([
        write(),
        this.#states.change(namespace, name, (state) => ({ ...state, ...fields })),
      ])
      if (written.status === 'rejected')
        await this.#states.change(namespace, name, (state) => withFieldsOf(state, fields, before))
      // Without a change in git, no watch was notified yet.
      const current = repository.revisions.get(name)
      if (current !== undefined) await this.#stateChanged({ repository, revision: current })
      if (written.status === 'rejected') throw written.reason
      if (stored.status === 'rejected') throw stored.reason
      return written.value
    } finally {
      if (--shown.saves === 0) this.#shown.delete(key)
    }
  }

  /** Returns the state that listeners know and the one now, of which they will know. */
  #nextShown(namespace: string, name: string): { readonly before: RevisionState; readonly state: RevisionState } {
    const state = this.#states.get(namespace, name)
    const shown = this.#shown.get(formatKey({ namespace, name }))
    const before = shown?.state ?? state
    if (shown !== undefined) shown.state = state
    return { before, state }
  }

  /** Notifies of a changed state of a revision that is as it was. */
  async #stateChanged({ repository, revision }: Located): Promise<void> {
    const { before, state } = this.#nextShown(repository.settings.namespace, revision.name)
    if (same(before, state)) return
    const [previous, object] = await Promise.all([
      packageRevisionObject(repository, revision, before),
      packageRevisionObject(repository, revision, state),
    ])
    notify(this.#revisionListeners, previous, object)
    if (same(before.resourcesMetadata, state.resourcesMetadata) && same(before.renderStatus, state.renderStatus)) return
    const files = await repository.files(revision)
    const resources = resourcesObject(repository, revision, files, state)
    notify(this.#resourceListeners, resourcesObject(repository, revision, new Map(), before), resources)
  }

  async #changed(repository: PackageRepository, changes: readonly RevisionChange[]): Promise<void> {
    if (changes.length > maxNotified) {
      for (const listener of [...this.#revisionListeners, ...this.#resourceListeners]) listener({ type: 'replaced' })
      return
    }
    const { namespace } = repository.settings
    for (const { before, after } of changes) {
      const { name } = (after ?? before)!
      await this.#states.settled(namespace, name)
      const states = this.#nextShown(namespace, name)
      const { state } = states
      const [previous, object, resources] = await Promise.all([
        before && packageRevisionObject(repository, before, states.before),
        after && packageRevisionObject(repository, after, state),
        this.#changedResources(repository, before, after, states),
      ])
      notify(this.#revisionListeners, previous, object)
      if (resources !== undefined) notify(this.#resourceListeners, resources.previous, resources.object)
    }
  }

  /** Returns the PackageRevisionResources before and after a change; undefined when they are the same. */
  async #changedResources(
    repository: PackageRepository,
    before: Revision | undefined,
    after: Revision | undefined,
    states: { readonly before: RevisionState; readonly state: RevisionState },
  ): Promise<{ readonly previous: KubeObject | undefined; readonly object: KubeObject | undefined } | undefined> {
    if (this.#resourceListeners.size === 0) return undefined
    if (before !== undefined && before.commit === after?.commit && before.ref === after.ref) return undefined
    // Content that cannot be read is not served either.
    const files = after && (await repository.files(after).catch(() => undefined))
    return {
      // Selectors read no files: the previous state goes without.
      previous: before && resourcesObject(repository, before, new Map(), states.before),
      object: after && resourcesObject(repository, after, files ?? new Map(), states.state),
    }
  }
}

function notify(listeners: Iterable<Listener>, previous: KubeObject | undefined, object: KubeObject | undefined): void {
  for (const listener of listeners) {
    if (object !== undefined) listener({ type: 'put', object, previous })
    else if (previous !== undefined) listener({ type: 'delete', object: previous, previous })
  }
}

/** Returns the state with those fields of `before` that `fields` has. */
function withFieldsOf(state: RevisionState, fields: Partial<RevisionState>, before: RevisionState): RevisionState {
  const restored = { ...state } as Record<string, unknown>
  for (const field of Object.keys(fields) as (keyof RevisionState)[]) {
    if (before[field] === undefined) delete restored[field]
    else restored[field] = before[field]
  }
  return restored as unknown as RevisionState
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual((a ?? null) as JsonObject, (b ?? null) as JsonObject)
}
