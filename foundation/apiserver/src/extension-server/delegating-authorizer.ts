// Whether a caller may do something: asked of the cluster (SubjectAccessReview), so that its roles hold for what is served here as well.
import type { Client } from '@fairlead/client'
import type { Clock, JsonObject, JsonValue } from '@fairlead/kube'
import type { Attributes, Decision, RequestAuthorizer } from '../identity/authorizer.ts'
import { mastersGroup } from '../identity/well-known-users.ts'
import { askCluster } from './cluster-questions.ts'
import { RememberedAnswers } from './remembered-answers.ts'

/** As kube's own extension servers. Milliseconds. */
const lifetime = 10_000
const mostAnswers = 10_000
/** Longer questions are asked each time: their parts come from callers, who shall not fill the memory. */
const longestQuestion = 10_000

/** What kubelets and the cluster ask for, whatever the cluster says about rights. */
const openPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz'])

/** Needs the right to create `subjectaccessreviews` (`system:auth-delegator`). */
export class DelegatingAuthorizer implements RequestAuthorizer {
  readonly #client: Client
  readonly #clock: Clock
  readonly #answers: RememberedAnswers<Decision>

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#answers = new RememberedAnswers(clock, lifetime, mostAnswers)
  }

  /** @throws StatusError 500 when the cluster does not say */
  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const { user, resource, path = '' } = attributes
    if (user.groups.includes(mastersGroup)) return { allowed: true, reason: mastersGroup }
    if (resource === undefined && openPaths.has(path)) return { allowed: true, reason: 'everyone may know' }
    const spec = reviewSpec(attributes)
    const question = JSON.stringify(spec)
    const ask = (): Promise<Decision> => this.#ask(spec)
    return question.length > longestQuestion ? ask() : this.#answers.of(question, ask)
  }

  async #ask(spec: JsonObject): Promise<Decision> {
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    const status = await askCluster(this.#client, this.#clock, reviewsPath, review)
    const { allowed, denied, reason, evaluationError } = status
    const text = typeof reason === 'string' && reason !== '' ? reason : String(evaluationError ?? '')
    return { allowed: allowed === true && denied !== true, reason: text }
  }
}

const reviewsPath = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

function reviewSpec({ user, verb, path, ...rest }: Attributes): JsonObject {
  const { group = '', version = '', resource, subresource = '', namespace = '', name = '' } = rest
  const subject = {
    user: user.name,
    groups: [...user.groups],
    ...(user.uid === undefined ? {} : { uid: user.uid }),
    ...(user.extra === undefined ? {} : { extra: user.extra as unknown as JsonValue }),
  }
  if (resource === undefined) return { ...subject, nonResourceAttributes: { path: path ?? '', verb } }
  const resourceAttributes = { group, version, resource, subresource, namespace, name, verb }
  return { ...subject, resourceAttributes }
}
