// Whether an account may read what a shared cache holds: asked of the cluster before the cache is read on its behalf, remembered for ten
// seconds, and forgotten when rights change (specs/foundation.md §3, "Acting as someone").
import { kind } from '@fairlead/client'
import type { Client, ResourcePath } from '@fairlead/client'
import type { Manager } from '@fairlead/controller'
import type { Clock, KubeObject } from '@fairlead/kube'
import { clusterGrants, namespacedGrants } from './kinds.ts'
import type { Account } from './account.ts'

/** Milliseconds that an answer counts. */
const remembered = 10_000
const review = kind('authorization.k8s.io/v1', 'SubjectAccessReview', {
  plural: 'subjectaccessreviews',
  namespaced: false,
})

interface Answer {
  readonly allowed: Promise<boolean>
  readonly until: number
}

/** Answers for all accounts. */
export class AccessReviews {
  readonly #client: Client
  readonly #clock: Clock
  readonly #answers = new Map<string, Answer>()

  constructor(manager: Manager) {
    this.#client = manager.client
    this.#clock = manager.clock
    for (const grant of [...namespacedGrants, ...clusterGrants])
      manager.use(grant).informer.subscribe({ changed: () => this.#answers.clear() }, { replay: false })
  }

  /** Whether the account may `get` objects of a resource in a namespace. */
  mayRead(account: Account, resource: ResourcePath, namespace: string): Promise<boolean> {
    const id = [account.namespace, account.name, resource.group, resource.plural, namespace].join('/')
    const now = this.#clock.monotonic()
    const known = this.#answers.get(id)
    if (known !== undefined && known.until > now) return known.allowed
    const allowed = this.#ask(account, resource, namespace)
    this.#answers.set(id, { allowed, until: now + remembered })
    allowed.catch(() => this.#answers.delete(id))
    return allowed
  }

  async #ask(account: Account, { group, plural }: ResourcePath, namespace: string): Promise<boolean> {
    const answer = (await this.#client.create({
      apiVersion: review.apiVersion,
      kind: review.kind,
      metadata: {},
      spec: {
        user: `system:serviceaccount:${account.namespace}:${account.name}`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`, 'system:authenticated'],
        resourceAttributes: { verb: 'get', group, resource: plural, namespace },
      },
    } as KubeObject)) as { readonly status?: { readonly allowed?: boolean } }
    return answer.status?.allowed === true
  }
}
