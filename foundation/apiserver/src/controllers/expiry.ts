// Objects with a time to live: Events an hour after they were last written, finished Jobs when their `ttlSecondsAfterFinished` is over.
import { kind, KubeEvent } from '@fairlead/client'
import type { DeleteOptions, Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Informer, Result } from '@fairlead/controller'
import { formatKey, isConditionTrue, isConflict, isNotFound, isTerminating, keyOf } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { controllerManager, wake } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

/** How long an Event is kept (kube-apiserver's `--event-ttl`). Milliseconds. */
const eventLife = 3_600_000

/** `batch/v1 Job`. */
type Job = KubeObject & {
  readonly spec?: { readonly ttlSecondsAfterFinished?: number }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

const Job: Kind<Job> = kind('batch/v1', 'Job', { plural: 'jobs', namespaced: true })

/** Sets the expiry of Events up. */
export function setUpEventExpiry(context: ControllerContext): void {
  expire(context, 'event-expiry', KubeEvent, endOfEvent, 'Background')
}

/** Sets the expiry of finished Jobs up. */
export function setUpJobExpiry(context: ControllerContext): void {
  expire(context, 'ttl-after-finished-controller', Job, endOfJob, 'Foreground')
}

function expire<T extends KubeObject>(
  context: ControllerContext,
  name: string,
  expiring: Kind<T>,
  endOf: (object: T) => number | undefined,
  propagation: DeleteOptions['propagation'],
): void {
  const { clock } = context.manager
  const loop = context.manager.loop<string>({
    name,
    id: (key) => key,
    concurrency: 8,
    manager: controllerManager,
    run: async (key, { client }): Promise<Result> => {
      const object = objects.get(key)
      const end = object === undefined || isTerminating(object) ? undefined : endOf(object)
      if (object === undefined || end === undefined) return undefined
      const left = end - clock.now()
      if (left > 0) return after(left)
      const { uid, resourceVersion } = object.metadata
      try {
        await client.delete(expiring, keyOf(object), {
          propagation,
          preconditions: { uid: uid!, resourceVersion: resourceVersion! },
        })
      } catch (error) {
        // it was written again, which wakes the item, or is gone
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
      return undefined
    },
    logFields: (key) => ({ kind: expiring.kind, key }),
  })
  const objects: Informer<T> = wake(context, loop, expiring, ({ type, object }) =>
    type !== 'removed' && endOf(object) !== undefined ? [formatKey(keyOf(object))] : [],
  )
}

/** When an Event expires: its life begins anew with every write. Milliseconds since the epoch. */
function endOfEvent(event: KubeEvent): number {
  const times = [
    event.metadata.creationTimestamp,
    event.series?.lastObservedTime,
    ...(event.metadata.managedFields ?? []).map(({ time }) => time),
  ]
  return Math.max(...times.map((time) => (time ? Date.parse(time) : 0))) + eventLife
}

/** When a Job expires; undefined while it runs, and for Jobs that are kept. */
function endOfJob({ spec, status }: Job): number | undefined {
  const seconds = spec?.ttlSecondsAfterFinished
  const finished = status?.conditions?.find(
    ({ type }) => (type === 'Complete' || type === 'Failed') && isConditionTrue(status.conditions, type),
  )
  if (seconds === undefined || finished?.lastTransitionTime === undefined) return undefined
  return Date.parse(finished.lastTransitionTime) + seconds * 1000
}
