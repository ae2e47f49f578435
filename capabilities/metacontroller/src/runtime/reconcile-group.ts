// Reconciles one group: decides on it and carries the plan out.
import { yieldToEventLoop } from '@fairlead/client'
import type { WorkContext } from '@fairlead/controller'
import { RemoteError, ResponseReservation } from '@fairlead/controller'
import type { Decision } from '../engine/decide-group.ts'
import { decideGroup } from '../engine/decide-group.ts'
import type { Group } from '../engine/group.ts'
import type { Hooks } from '../engine/hook.ts'
import { ResponseError } from '../engine/response.ts'
import type { LiveCluster } from './live-cluster.ts'
import type { GroupWriter } from './writer.ts'

/**
 * Reconciles a group. Throws RemoteError for a failure of a hook, HookBusyError when it asks to retry later, WriteError
 * and StatusError for writes that failed.
 */
export async function reconcileGroup(
  cluster: LiveCluster,
  writer: GroupWriter,
  hooks: Hooks,
  group: Group,
  { clock, signal }: Pick<WorkContext, 'clock' | 'signal'>,
): Promise<Decision> {
  using reservation = new ResponseReservation()
  const decision = await decideGroup(cluster, hooks, group, {
    now: clock.now(),
    signal,
    pause: yieldToEventLoop,
    reservation,
  })
  if (decision.error !== undefined) throw remoteError(decision.error)
  await writer.carryOut(decision.plan)
  return decision
}

/** A wrong response is an error of the server, which may respond correctly the next time it is called. */
function remoteError(error: unknown): unknown {
  return error instanceof ResponseError ? new RemoteError(error.code, error.message, { cause: error }) : error
}
