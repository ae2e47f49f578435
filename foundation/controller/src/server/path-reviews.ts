// May a caller GET a path of the manager's server? Its bearer token and its rights are asked of the API server, as
// controller-runtime does it.
import { createHash } from 'node:crypto'
import type { Client } from '@fairlead/client'
import { asJson, failure, unauthorized } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue, StatusError } from '@fairlead/kube'

/** How long an answer counts, milliseconds. */
const remembered = 10_000
/** Answers kept; older ones are asked for again. */
const mostAnswers = 1000

interface Remembered {
  readonly until: number
  /** Why the caller may not; undefined when it may. Rejects when the API server does not say. */
  readonly verdict: Promise<StatusError | undefined>
}

/**
 * Reviews of tokens (TokenReview) and of rights to paths (SubjectAccessReview); the manager's account needs `create` on
 * both.
 */
export class PathReviews {
  readonly #client: Client
  readonly #clock: Clock
  readonly #answers = new Map<string, Remembered>()

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /**
   * Why a caller may not: 401 without a token that the API server knows, 403 where its owner has no rule for `get` on
   * the path. Undefined when it may. Throws when the API server does not say.
   */
  async refusal(authorization: string | undefined, path: string): Promise<StatusError | undefined> {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return unauthorized('a bearer token is needed')
    const id = createHash('sha256').update(`${path}\0${token}`).digest('base64')
    const known = this.#answers.get(id)
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.verdict
    const answer: Remembered = { until: this.#clock.monotonic() + remembered, verdict: this.#review(token, path) }
    this.#answers.delete(id)
    this.#answers.set(id, answer)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > mostAnswers && oldest !== undefined) this.#answers.delete(oldest)
    // A failure is no answer.
    answer.verdict.catch(() => this.#answers.get(id) === answer && this.#answers.delete(id))
    return answer.verdict
  }

  async #review(token: string, path: string): Promise<StatusError | undefined> {
    const identified = await this.#post('/apis/authentication.k8s.io/v1/tokenreviews', 'TokenReview', { token })
    const { authenticated, user } = identified as { authenticated?: boolean; user?: JsonObject }
    if (authenticated !== true || user?.username === undefined) return unauthorized('the token is not known')
    const { username, groups = [], uid, extra } = user
    const { allowed } = await this.#post('/apis/authorization.k8s.io/v1/subjectaccessreviews', 'SubjectAccessReview', {
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

  async #post(path: string, kind: string, spec: JsonObject): Promise<JsonObject> {
    const apiVersion = path.split('/').slice(2, 4).join('/')
    const body = { apiVersion, kind, spec }
    // What goes wrong here is the manager's own affair, not the caller's: its account may lack the right to ask.
    const answer: JsonValue = await this.#client.send({ method: 'POST', path, body }).catch((cause: unknown) => {
      throw new Error(`The ${kind} of a caller failed: ${(cause as Error).message}`, { cause })
    })
    return (asJson(answer as object).status ?? {}) as JsonObject
  }
}
