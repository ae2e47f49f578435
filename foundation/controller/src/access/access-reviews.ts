// May someone do something? Asked of the API server (SubjectAccessReview), remembered for a short while, forgotten when
// rights change.
import { kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { asJson } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import type { InformerPool } from '../informer/informer-pool.ts'

/** Whose rights are asked for. */
export interface AccessSubject {
  readonly user: string
  readonly groups?: readonly string[]
}

/** What someone wants to do. */
export interface ResourceAccess {
  readonly verb: string
  readonly group: string
  readonly version?: string
  /** The plural. */
  readonly resource: string
  /** All namespaces when left out, or none for cluster-scoped resources. */
  readonly namespace?: string
  /** All objects when left out. */
  readonly name?: string
}

/** Whether someone may do something, and why. */
export interface AccessDecision {
  readonly allowed: boolean
  /** What the authorizer says about it; often nothing. */
  readonly reason: string
}

/** How long an answer counts, milliseconds (specs/foundation.md §3). */
const remembered = 10_000
/** Answers kept; older ones are asked for again. */
const mostAnswers = 10_000

const rbacKinds: readonly Kind[] = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'].map((name) =>
  kind('rbac.authorization.k8s.io/v1', name, {
    plural: `${name.toLowerCase()}s`,
    namespaced: !name.startsWith('Cluster'),
  }),
)

interface Remembered {
  readonly until: number
  readonly decision: Promise<AccessDecision>
}

/** The subject of a service account. */
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
 * Answers of the API server, which needs to grant `create` on `subjectaccessreviews`. With the right to watch RBAC
 * kinds, changes count at once.
 */
export class AccessReviews implements Disposable {
  readonly #client: Client
  readonly #informers: InformerPool
  readonly #clock: Clock
  readonly #answers = new Map<string, Remembered>()
  readonly #uses = new DisposableStack()
  #watching = false

  constructor(client: Client, informers: InformerPool, clock: Clock) {
    this.#client = client
    this.#informers = informers
    this.#clock = clock
  }

  /** Whether a subject may do something. Throws StatusError when the server does not say. */
  async check(subject: AccessSubject, access: ResourceAccess): Promise<AccessDecision> {
    this.#watchRights()
    const id = JSON.stringify([subject.user, subject.groups ?? [], access])
    const known = this.#answers.get(id)
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.decision
    const answer = { until: this.#clock.monotonic() + remembered, decision: this.#ask(subject, access) }
    this.#answers.delete(id)
    this.#answers.set(id, answer)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > mostAnswers && oldest !== undefined) this.#answers.delete(oldest)
    // A failure is no answer.
    answer.decision.catch(() => this.#answers.get(id) === answer && this.#answers.delete(id))
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

  /** Rights that change wake nobody by themselves; they only end what is remembered, answers on their way included. */
  #watchRights(): void {
    if (this.#watching) return
    this.#watching = true
    for (const rbac of rbacKinds) {
      const use = this.#uses.use(this.#informers.use(rbac, { metadataOnly: true }))
      this.#uses.use(use.informer.subscribe({ changed: () => this.#answers.clear() }, { replay: false }))
    }
  }
}

/** What someone may not do, in the words of Kubernetes. */
export function accessText({ verb, resource, group, namespace }: ResourceAccess, { user }: AccessSubject): string {
  const scope = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
  return `User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${scope}`
}
