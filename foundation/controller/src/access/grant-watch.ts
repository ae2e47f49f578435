// Watches RBAC while a right is missing, so that what was refused is retried as soon as it is granted.
import type { Kind } from '@fairlead/client'
import { kind } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import type { InformerPool } from '../informer/informer-pool.ts'

const rbac = 'rbac.authorization.k8s.io/v1'
const kinds: readonly Kind[] = [
  kind(rbac, 'Role', { plural: 'roles', namespaced: true }),
  kind(rbac, 'RoleBinding', { plural: 'rolebindings', namespaced: true }),
  kind(rbac, 'ClusterRole', { plural: 'clusterroles', namespaced: false }),
  kind(rbac, 'ClusterRoleBinding', { plural: 'clusterrolebindings', namespaced: false }),
]

/** Milliseconds after a change: the authorizer of the API server reads RBAC from a cache of its own. */
const delay = 500

/** Watches RBAC on demand. Without the right to read it, retries remain. */
export class GrantWatch implements Disposable {
  readonly #pool: InformerPool
  readonly #clock: Clock
  readonly #onGranted: () => void
  #uses: Disposable[] = []
  #timer: Disposable | undefined

  /** `onGranted` is called after roles or bindings changed. */
  constructor(pool: InformerPool, clock: Clock, onGranted: () => void) {
    this.#pool = pool
    this.#clock = clock
    this.#onGranted = onGranted
  }

  /** Starts to watch, if it does not watch yet. */
  watch(): void {
    if (this.#uses.length > 0) return
    this.#uses = kinds.flatMap((one) => {
      const use = this.#pool.use(one)
      const changed = (change: { readonly initial: boolean }): void => {
        if (!change.initial) this.#schedule()
      }
      return [use.informer.subscribe({ changed }, { replay: false }), use]
    })
  }

  /** Stops watching: no right is missing any more. */
  release(): void {
    for (const use of this.#uses.splice(0)) use[Symbol.dispose]()
    this.#timer?.[Symbol.dispose]()
    this.#timer = undefined
  }

  [Symbol.dispose](): void {
    this.release()
  }

  #schedule(): void {
    this.#timer ??= this.#clock.timer(delay, () => {
      this.#timer = undefined
      this.#onGranted()
    })
  }
}
