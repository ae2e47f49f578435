// Access reviews of other subjects: SubjectAccessReviews of the API server, cached for a short time and dropped when
// RBAC objects change.
import { kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { DisposableStack, asJson } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import type { InformerPool } from '../informer/informer-pool.ts'

/** The subject of a review. */
export interface AccessSubject {
  readonly user: string
  readonly groups?: readonly string[]
}

/** The access to review. */
export interface ResourceAccess {
  readonly verb: string
  readonly group: string
  readonly version?: string
  /** Plural. */
  readonly resource: string
  readonly subresource?: string
  /** All namespaces when left out, or none for cluster-scoped resources. */
  readonly namespace?: string
  /** All objects when left out. */
  readonly name?: string
}

/** The result of a review. */
export interface AccessDecision {
  readonly allowed: boolean
  /** The reason that the authorizer gives; often none. */
  readonly reason: string
}

/** Lifetime of cached decisions, milliseconds (specs/foundation.md §3). */
const lifetime = 10_000
/** Maximum number of cached decisions; the oldest is dropped. */
const maxDecisions = 10_000

const rbacKinds: readonly Kind[] = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'].map((name) =>
  kind('rbac.authorization.k8s.io/v1', name, {
    plural: `${name.toLowerCase()}s`,
    namespaced: !name.startsWith('Cluster'),
  }),
)

interface CachedDecision {
  readonly until: number
  readonly decision: Promise<AccessDecision>
}

/** Returns the subject of a service account. */
export function serviceAccountSubject({
  namespace,
  name,
}: {
  readonly namespace: string
  readonly name: string
}): AccessSubject {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  }
}

/**
 * Cached decisions of the API server; the client needs `create` on `subjectaccessreviews`. With the right to watch RBAC
 * kinds, changes take effect at once.
 */
export class AccessReviews implements Disposable {
  readonly #client: Client
  readonly #informers: InformerPool
  readonly #clock: Clock
  readonly #decisions = new Map<string, CachedDecision>()
  readonly #uses = new DisposableStack()
  #watching = false

  constructor(client: Client, informers: InformerPool, clock: Clock) {
    this.#client = client
    this.#informers = informers
    this.#clock = clock
  }

  /** Returns whether a subject has access. Throws StatusError when the review fails. */
  async check(subject: AccessSubject, access: ResourceAccess): Promise<AccessDecision> {
    this.#watchRights()
    const id = JSON.stringify([subject.user, subject.groups ?? [], access])
    const known = this.#decisions.get(id)
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.decision
    const answer = { until: this.#clock.monotonic() + lifetime, decision: this.#ask(subject, access) }
    this.#decisions.delete(id)
    this.#decisions.set(id, answer)
    const [oldest] = this.#decisions.keys()
    if (this.#decisions.size > maxDecisions && oldest !== undefined) this.#decisions.delete(oldest)
    // Failures are not cached.
    answer.decision.catch(() => this.#decisions.get(id) === answer && this.#decisions.delete(id))
    return answer.decision
  }

  [Symbol.dispose](): void {
    this.#uses.dispose()
  }

  async #ask(subject: AccessSubject, access: ResourceAccess): Promise<AccessDecision> {
    const { status } = asJson(
      (await this.#client.send({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: {
            user: subject.user,
            ...(subject.groups && { groups: subject.groups }),
            resourceAttributes: { ...access },
          },
        } satisfies JsonObject,
      })) as object,
    ) as { status?: { allowed?: boolean; reason?: string } }
    return { allowed: status?.allowed === true, reason: status?.reason ?? '' }
  }

  /** Drops all cached decisions, pending ones included, when RBAC objects change. Wakes no item. */
  #watchRights(): void {
    if (this.#watching) return
    this.#watching = true
    for (const rbac of rbacKinds) {
      const use = this.#uses.use(this.#informers.use(rbac, { metadataOnly: true }))
      this.#uses.use(use.informer.subscribe({ changed: () => this.#decisions.clear() }, { replay: false }))
    }
  }
}

/** Returns Kubernetes' message for denied access. */
export function accessText(
  { verb, resource, subresource, group, namespace }: ResourceAccess,
  { user }: AccessSubject,
): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  const scope = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
  return `User "${user}" cannot ${verb} resource "${what}" in API group "${group}" ${scope}`
}
