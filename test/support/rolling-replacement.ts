// Replaces replicas of `fairlead run` one by one, as a Deployment does: the new one is ready before an old one is
// stopped.
import type { Replica } from './replica.ts'
import { eventually } from './until.ts'

/**
 * Starts `start` once for each of `replicas` and stops that one after the new one is ready. Returns the new ones.
 * Throws when a replica ends with another code than 0, unless `stop` says otherwise.
 */
export async function replaceEach(
  replicas: readonly Replica[],
  start: () => Promise<Replica>,
  stop: (replica: Replica) => Promise<unknown> = stopped,
): Promise<Replica[]> {
  const replaced: Replica[] = []
  for (const old of replicas) {
    const next = await start()
    replaced.push(next)
    await ready(next)
    await stop(old)
  }
  return replaced
}

/** Stops a replica. Throws when it ends with another code than 0. */
async function stopped(replica: Replica): Promise<void> {
  const code = await replica.stop()
  if (code !== 0) throw new Error(`A replica ended with ${code}:\n${replica.log}`)
}

/** Resolves when `/readyz` answers 200. */
export async function ready(replica: Pick<Replica, 'get'>): Promise<void> {
  await eventually(async () => {
    const [status, body] = await replica.get('/readyz')
    if (status !== 200) throw new Error(body)
  }, 50)
}
