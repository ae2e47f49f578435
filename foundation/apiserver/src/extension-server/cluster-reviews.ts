// Posts TokenReviews and SubjectAccessReviews to the cluster, with a timeout. They change nothing, so they are retried.
import { StatusError, asJson, internalError } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import type { Client } from '@fairlead/client'

/** Timeout of all attempts, that of k8s.io/apiserver's extension servers. Milliseconds. */
const timeout = 10_000
/** Maximum number of attempts. */
const attempts = 4
/** Backoff before the second attempt; it grows by half with each attempt. Milliseconds. */
const firstBackoff = 250

/** Posts a review and returns its status. @throws StatusError 500 without a response */
export async function postReview(client: Client, clock: Clock, path: string, review: JsonObject): Promise<JsonObject> {
  const stop = new AbortController()
  using _deadline = clock.timer(timeout, () => stop.abort(new Error('the cluster did not respond in time')))
  const { signal } = stop
  let backoff = firstBackoff
  for (let attempt = 1; ; attempt++) {
    try {
      const reviewed = await client.send({ method: 'POST', path, body: review, signal })
      return (asJson(reviewed as object)['status'] ?? {}) as JsonObject
    } catch (error) {
      if (attempt === attempts || signal.aborted || !isTransient(error)) throw reviewError(review, error)
      await clock.sleep(backoff)
      backoff *= 1.5
    }
  }
}

/** Returns true for errors of the connection, of an overloaded and of a failing server. */
function isTransient(error: unknown): boolean {
  return !(error instanceof StatusError) || error.code >= 500 || error.code === 429
}

function reviewError({ kind }: JsonObject, cause: unknown): StatusError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return Object.assign(internalError(`the cluster does not respond to ${String(kind)}s: ${reason}`), { cause })
}
