// The times of the changes that lead to writes of endpoints, for the annotation that measures how long these take:
// k8s.io/endpointslice/util TriggerTimeTracker.
import type { ServingPod, SelectingService } from './selected-pods.ts'

/** The last known times of Services and their Pods. Times are RFC 3339 in UTC, as in objects. */
export class TriggerTimes {
  readonly #pods = new Map<string, ReadonlyMap<string, string>>()

  /**
   * Returns the time of the earliest change since the last call for a Service: its creation at the first call, else the
   * last transition of `Ready` of a Pod. Returns undefined when there is no new one.
   */
  next(key: string, service: SelectingService, pods: readonly ServingPod[]): string | undefined {
    const known = this.#pods.get(key)
    const times = new Map(
      pods.flatMap(({ metadata, status }) => {
        const time = status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime
        return time ? [[metadata.name ?? '', time] as const] : []
      }),
    )
    this.#pods.set(key, times)
    if (known === undefined) return service.metadata.creationTimestamp ?? undefined
    return [...times]
      .filter(([pod, time]) => time > (known.get(pod) ?? ''))
      .map(([, time]) => time)
      .toSorted()[0]
  }

  /** Forgets a deleted Service. */
  forget(key: string): void {
    this.#pods.delete(key)
  }
}
