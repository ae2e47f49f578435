// Questions to the cluster that must be answered in time: reviews of tokens and of access. They change nothing, so they may be asked again.
import { StatusError, asJson, internalError } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import type { Client } from '@fairlead/client'

/** As long as kube's own extension servers wait. Milliseconds. */
const patience = 10_000
/** Attempts in that time. */
const attempts = 4
/** Before the second attempt; half as long again before each next one. Milliseconds. */
const firstWait = 250

/** Posts a review and gives its status. @throws StatusError 500 when there is no answer */
export async function askCluster(client: Client, clock: Clock, path: string, review: JsonObject): Promise<JsonObject> {
  const stop = new AbortController()
  using _deadline = clock.timer(patience, () => stop.abort(new Error('the cluster has not answered in time')))
  const { signal } = stop
  let wait = firstWait
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await client.send({ method: 'POST', path, body: review, signal })
      return (asJson(answer as object)['status'] ?? {}) as JsonObject
    } catch (error) {
      if (attempt === attempts || signal.aborted || !mayPass(error)) throw unanswered(review, error)
      await clock.sleep(wait)
      wait *= 1.5
    }
  }
}

/** No refusal, but a server or a connection that is not well at the moment. */
function mayPass(error: unknown): boolean {
  return !(error instanceof StatusError) || error.code >= 500 || error.code === 429
}

function unanswered({ kind }: JsonObject, cause: unknown): StatusError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return Object.assign(internalError(`the cluster does not answer ${String(kind)}s: ${reason}`), { cause })
}
