// Delegates authorization to the cluster by SubjectAccessReview, so that its roles apply to the resources of an
// extension API server.
import type { Client } from '@fairlead/client'
import type { Clock, JsonObject, JsonValue } from '@fairlead/kube'
import type { Attributes, Decision, RequestAuthorizer } from '../identity/authorizer.ts'
import { mastersGroup } from '../identity/well-known-users.ts'
import { postReview } from './cluster-reviews.ts'
import { ResponseCache } from './response-cache.ts'

/** Time for which a decision is cached, that of k8s.io/apiserver's extension servers. Milliseconds. */
const cacheLifetime = 10_000
const cacheSize = 10_000
/**
 * Maximum length of a cache key; longer reviews are not cached: callers choose their contents and must not fill the
 * memory.
 */
const maxKeyLength = 10_000

/** Paths of probes, which are always allowed. */
const publicPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz'])

/** Authorizes by SubjectAccessReview. Needs permission to create `subjectaccessreviews` (`system:auth-delegator`). */
export class DelegatingAuthorizer implements RequestAuthorizer {
  readonly #client: Client
  readonly #clock: Clock
  readonly #decisions: ResponseCache<Decision>

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#decisions = new ResponseCache(clock, cacheLifetime, cacheSize)
  }

  /** @throws StatusError 500 when the cluster does not respond */
  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const { user, resource, path = '' } = attributes
    if (user.groups.includes(mastersGroup)) return { allowed: true, reason: mastersGroup }
    if (resource === undefined && publicPaths.has(path)) return { allowed: true, reason: 'public path' }
    const spec = reviewSpec(attributes)
    const key = JSON.stringify(spec)
    const review = (): Promise<Decision> => this.#review(spec)
    return key.length > maxKeyLength ? review() : this.#decisions.get(key, review)
  }

  async #review(spec: JsonObject): Promise<Decision> {
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    const status = await postReview(this.#client, this.#clock, reviewsPath, review)
    const { allowed, denied, reason, evaluationError } = status
    const shown = typeof reason === 'string' && reason !== '' ? reason : String(evaluationError ?? '')
    return { allowed: allowed === true && denied !== true, reason: shown }
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
