// Deletes expired objects: Events an hour after their last write, finished Jobs after `ttlSecondsAfterFinished`.
import { kind, KubeEvent } from '@fairlead/client'
import type { DeleteOptions, Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Informer, Result } from '@fairlead/controller'
import { formatKey, isConditionTrue, isConflict, isNotFound, isTerminating, keyOf } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { controllerManager, enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

/** The time to live of an Event (kube-apiserver's `--event-ttl`). Milliseconds. */
const eventTtl = 3_600_000

/** `batch/v1 Job`. */
type Job = KubeObject & {
  readonly spec?: { readonly ttlSecondsAfterFinished?: number }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

const Job: Kind<Job> = kind('batch/v1', 'Job', { plural: 'jobs', namespaced: true })

/** Sets up the expiry of Events. */
export function setUpEventExpiry(context: ControllerContext): void {
  expire(context, 'event-expiry', KubeEvent, expiryOfEvent, 'Background')
}

/** Sets up the expiry of finished Jobs. */
export function setUpJobExpiry(context: ControllerContext): void {
  expire(context, 'ttl-after-finished-controller', Job, expiryOfJob, 'Foreground')
}

function expire<T extends KubeObject>(
  context: ControllerContext,
  name: string,
  expiring: Kind<T>,
  expiryOf: (object: T) => number | undefined,
  propagation: DeleteOptions['propagation'],
): void {
  const { clock } = context.manager
  const loop = context.manager.loop<string>({
    name,
    id: (key) => key,
    concurrency: 8,
    manager: controllerManager,
    run: async (key, { client }): Promise<Result> => {
      const object = objects.lastKnown.get(key)
      const expiry = object === undefined || isTerminating(object) ? undefined : expiryOf(object)
      if (object === undefined || expiry === undefined) return undefined
      const left = expiry - clock.now()
      if (left > 0) return after(left)
      const { uid, resourceVersion } = object.metadata
      try {
        await client.delete(expiring, keyOf(object), {
          propagation,
          preconditions: { uid: uid!, resourceVersion: resourceVersion! },
        })
      } catch (error) {
        // It was written again, which enqueues the item, or deleted.
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
      return undefined
    },
    logFields: (key) => ({ kind: expiring.kind, key }),
  })
  const objects: Informer<T> = enqueueOn(context, loop, expiring, ({ type, object }) =>
    type !== 'removed' && expiryOf(object) !== undefined ? [formatKey(keyOf(object))] : [],
  )
}

/** Returns the time when an Event expires: every write restarts its time to live. Milliseconds since the epoch. */
function expiryOfEvent(event: KubeEvent): number {
  const times = [
    event.metadata.creationTimestamp,
    event.series?.lastObservedTime,
    ...(event.metadata.managedFields ?? []).map(({ time }) => time),
  ]
  return Math.max(...times.map((time) => (time ? Date.parse(time) : 0))) + eventTtl
}

/** Returns the time when a Job expires; undefined while it runs, and for Jobs without a time to live. */
function expiryOfJob({ spec, status }: Job): number | undefined {
  const seconds = spec?.ttlSecondsAfterFinished
  const finished = status?.conditions?.find(
    ({ type }) => (type === 'Complete' || type === 'Failed') && isConditionTrue(status.conditions, type),
  )
  if (seconds === undefined || finished?.lastTransitionTime === undefined) return undefined
  return Date.parse(finished.lastTransitionTime) + seconds * 1000
}
