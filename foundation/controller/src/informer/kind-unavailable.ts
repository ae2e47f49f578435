// The error of reads from a cache that is not synced.
import { groupKindName } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { formatTime } from '@fairlead/kube'
import type { InformerState } from './informer.ts'

/**
 * Stable codes of {@link KindUnavailable}, one per state that is not Synced:
 * - `KindSyncing`: the first list is not complete yet; the reader is woken when it is.
 * - `KindForbidden`: the controller may not list or watch the kind; the message names the verb and the resource.
 * - `KindAbsent`: the server serves no such kind; the reader is woken when it does.
 * - `KindStale`: the kind was read, but watching or listing it fails since then; the reader is woken when it works.
 */
export type KindUnavailableCode = 'KindSyncing' | 'KindForbidden' | 'KindAbsent' | 'KindStale'

/** The objects of a kind are unknown. Unknown is not deleted: decide nothing from it (design decision 7). */
export class KindUnavailable extends Error {
  readonly code: KindUnavailableCode
  readonly kind: Kind
  readonly state: Exclude<InformerState, 'Synced'>

  /** `staleSince`: the time of the first failure, in milliseconds since the epoch, for `Stale`. */
  constructor(kind: Kind, state: Exclude<InformerState, 'Synced'>, cause: unknown, staleSince?: number) {
    super(unavailableMessage(kind, state, cause, staleSince), { cause })
    this.name = 'KindUnavailable'
    this.code = `Kind${state}`
    this.kind = kind
    this.state = state
  }
}

function unavailableMessage(
  kind: Kind,
  state: Exclude<InformerState, 'Synced'>,
  cause: unknown,
  staleSince: number | undefined,
): string {
  const name = groupKindName(kind)
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  switch (state) {
    case 'Syncing':
      return `${name} is still being listed${why}`
    case 'Forbidden':
      return `${name} cannot be read${why}`
    case 'Stale':
      return staleMessage(name, staleSince, cause)
    case 'Absent':
      return `The server serves no ${name} in ${kind.apiVersion}; install its CustomResourceDefinition or check the spelling`
  }
}

/** Returns the message about a kind whose cache is out of date since a time, in milliseconds since the epoch. */
export function staleMessage(name: string, staleSince: number | undefined, cause: unknown): string {
  const since = staleSince === undefined ? '' : ` since ${formatTime(staleSince)}`
  return `${name} cannot be watched${since}${cause instanceof Error ? `: ${cause.message}` : ''}`
}
