// Authenticates and authorizes callers of the manager's server with the API server, as controller-runtime does.
import { createHash } from 'node:crypto'
import type { Client } from '@fairlead/client'
import { failure, unauthorized } from '@fairlead/kube'
import type { Clock, JsonObject, StatusError } from '@fairlead/kube'
import { requestReview } from './review-request.ts'

/** Lifetime of cached decisions, milliseconds. */
const lifetime = 10_000
/** Maximum number of cached decisions; the oldest is dropped. */
const maxDecisions = 1000

interface CachedDecision {
  readonly until: number
  /** The error for a denied caller; undefined for an allowed one. Rejects when the review fails. */
  readonly verdict: Promise<StatusError | undefined>
}

/**
 * Reviews tokens (TokenReview) and access to paths (SubjectAccessReview); the manager's account needs `create` on both.
 */
export class PathReviews {
  readonly #client: Client
  readonly #clock: Clock
  readonly #decisions = new Map<string, CachedDecision>()

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /**
   * Returns the error for a denied caller: 401 without a valid token, 403 when its user may not `get` the path.
   * Undefined for an allowed caller. Throws when the review fails.
   */
  async refusal(authorization: string | undefined, path: string): Promise<StatusError | undefined> {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return unauthorized('a bearer token is needed')
    const id = createHash('sha256').update(`${path}\0${token}`).digest('base64')
    const known = this.#decisions.get(id)
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.verdict
    const answer: CachedDecision = { until: this.#clock.monotonic() + lifetime, verdict: this.#review(token, path) }
    this.#decisions.delete(id)
    this.#decisions.set(id, answer)
    const [oldest] = this.#decisions.keys()
    if (this.#decisions.size > maxDecisions && oldest !== undefined) this.#decisions.delete(oldest)
    // Failures are not cached.
    answer.verdict.catch(() => this.#decisions.get(id) === answer && this.#decisions.delete(id))
    return answer.verdict
  }

  async #review(token: string, path: string): Promise<StatusError | undefined> {
    const identified = await requestReview(this.#client, 'TokenReview', { token })
    const { authenticated, user } = identified as { authenticated?: boolean; user?: JsonObject }
    if (authenticated !== true || user?.username === undefined) return unauthorized('the token is not known')
    const { username, groups = [], uid, extra } = user
    const { allowed } = await requestReview(this.#client, 'SubjectAccessReview', {
      user: username,
      groups,
      ...(uid !== undefined && { uid }),
      ...(extra !== undefined && { extra }),
      nonResourceAttributes: { path, verb: 'get' },
    })
    return allowed === true
      ? undefined
      : failure(403, 'Forbidden', `User "${String(username)}" cannot get path "${path}"`)
  }
}
