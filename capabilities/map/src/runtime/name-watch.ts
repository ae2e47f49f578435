// Watches names that foreign objects have: each by itself, so that the group that needs the name is enqueued once it is
// free.
import { kindOfObject } from '@fairlead/client'
import type { InformerPool } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { GroupRef } from './group-state.ts'

/** Groups whose names are watched at a time, for each controller; groups beyond that rely on their retries. */
const maxWatches = 100

/** Watches the names that groups of one controller wait for. */
export class NameWatch implements Disposable {
  readonly #pool: InformerPool
  readonly #onFree: (group: GroupRef) => void
  readonly #watches = new Map<string, Disposable[]>()

  /** `onFree` is called when an existing object changed or was deleted. */
  constructor(pool: InformerPool, onFree: (group: GroupRef) => void) {
    this.#pool = pool
    this.#onFree = onFree
  }

  /** Watches the objects that have the names of a group's outputs, in place of those watched before. */
  watch(id: string, group: GroupRef, existing: readonly KubeObject[]): void {
    this.release(id)
    if (existing.length === 0 || this.#watches.size >= maxWatches) return
    this.#watches.set(
      id,
      existing.flatMap((known) => {
        const { namespace, name = '', resourceVersion } = known.metadata
        const use = this.#pool.use(kindOfObject(known), { namespace, fieldSelector: `metadata.name=${name}` })
        const changed = ({ object, type }: { readonly object: KubeObject; readonly type: string }): void => {
          if (type === 'removed' || object.metadata.resourceVersion !== resourceVersion) this.#onFree(group)
        }
        return [use.informer.subscribe({ changed }), use]
      }),
    )
  }

  /** Stops watching for a group. */
  release(id: string): void {
    for (const watch of this.#watches.get(id) ?? []) watch[Symbol.dispose]()
    this.#watches.delete(id)
  }

  [Symbol.dispose](): void {
    for (const id of this.#watches.keys()) this.release(id)
  }
}
