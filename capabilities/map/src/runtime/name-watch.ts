// Waiting for names that strangers hold: each is watched alone, so that the group that wants it is asked as soon as it is free.
import { kindOfObject } from '@fairlead/client'
import type { InformerPool } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { GroupRef } from './group-state.ts'

/** Names watched at a time, for each controller; groups beyond that rely on their retries. */
const mostNames = 100

/** The names that groups of one controller wait for. */
export class NameWatch implements Disposable {
  readonly #pool: InformerPool
  readonly #free: (group: GroupRef) => void
  readonly #watches = new Map<string, Disposable[]>()

  /** `free` is called when a stranger changed or went away. */
  constructor(pool: InformerPool, free: (group: GroupRef) => void) {
    this.#pool = pool
    this.#free = free
  }

  /** Watches the objects in a group's way, in place of those before. */
  watch(id: string, group: GroupRef, strangers: readonly KubeObject[]): void {
    this.release(id)
    if (strangers.length === 0 || this.#watches.size >= mostNames) return
    this.#watches.set(
      id,
      strangers.flatMap((stranger) => {
        const { namespace, name = '' } = stranger.metadata
        const use = this.#pool.use(kindOfObject(stranger), { namespace, fieldSelector: `metadata.name=${name}` })
        const { resourceVersion } = stranger.metadata
        const changed = ({ object, type }: { readonly object: KubeObject; readonly type: string }): void => {
          if (type === 'removed' || object.metadata.resourceVersion !== resourceVersion) this.#free(group)
        }
        return [use.informer.subscribe({ changed }), use]
      }),
    )
  }

  /** A group waits for no name any more. */
  release(id: string): void {
    for (const watch of this.#watches.get(id) ?? []) watch[Symbol.dispose]()
    this.#watches.delete(id)
  }

  [Symbol.dispose](): void {
    for (const id of this.#watches.keys()) this.release(id)
  }
}
