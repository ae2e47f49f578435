// Watches RBAC while a right is missing, so that what was refused is retried as soon as it is granted.
import type { Kind } from '@fairlead/client'
import { kind } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import type { InformerPool } from '../informer/informer-pool.ts'
import type { Informer, InformerState } from '../informer/informer.ts'

const rbac = 'rbac.authorization.k8s.io/v1'
const kinds: readonly Kind[] = [
  kind(rbac, 'Role', { plural: 'roles', namespaced: true }),
  kind(rbac, 'RoleBinding', { plural: 'rolebindings', namespaced: true }),
  kind(rbac, 'ClusterRole', { plural: 'clusterroles', namespaced: false }),
  kind(rbac, 'ClusterRoleBinding', { plural: 'clusterrolebindings', namespaced: false }),
]

/** Milliseconds after a change: the authorizer of the API server reads RBAC from a cache of its own. */
const delay = 500

/** Reports whether a state says that changes do not arrive. A list that is under way will bring them. */
function isUnread(state: InformerState): boolean {
  return state !== 'Synced' && state !== 'Syncing'
}

/** Watches RBAC on demand. Where it cannot be read, {@link GrantWatch.problem} says so, and retries remain. */
export class GrantWatch implements Disposable {
  readonly #pool: InformerPool
  readonly #clock: Clock
  readonly #onGranted: () => void
  readonly #onProblem: () => void
  #informers: readonly Informer[] = []
  #uses: Disposable[] = []
  #timer: Disposable | undefined

  /** `onGranted` is called after roles or bindings changed, `onProblem` when {@link GrantWatch.problem} may have. */
  constructor(pool: InformerPool, clock: Clock, onGranted: () => void, onProblem: () => void = () => {}) {
    this.#pool = pool
    this.#clock = clock
    this.#onGranted = onGranted
    this.#onProblem = onProblem
  }

  /** Why rights that are granted now may go unnoticed; undefined while they are seen, or no right is missing. */
  get problem(): string | undefined {
    const reasons = this.#informers.flatMap((informer) => {
      const cache = informer.read()
      return cache.known || !isUnread(cache.reason.state) ? [] : [cache.reason.message]
    })
    return reasons.length === 0 ? undefined : reasons.join('; ')
  }

  /** Starts to watch, if it does not watch yet. */
  watch(): void {
    if (this.#uses.length > 0) return
    const uses = kinds.map((one) => this.#pool.use(one))
    this.#informers = uses.map(({ informer }) => informer)
    this.#uses = uses.flatMap((use) => {
      let isMissed = isUnread(use.informer.state)
      const changed = (change: { readonly initial: boolean }): void => {
        if (!change.initial) this.#schedule()
      }
      const state = (now: InformerState): void => {
        // What was granted while nothing could be read comes with the next list, as if it had always been there.
        if (now === 'Synced' && isMissed) this.#schedule()
        isMissed = isUnread(now)
        this.#onProblem()
      }
      return [use.informer.subscribe({ changed, state }, { replay: false }), use]
    })
    if (this.problem !== undefined) this.#onProblem()
  }

  /** Stops watching: no right is missing any more. */
  release(): void {
    this.#informers = []
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
