// The error of reads from a cache that is not synced.
import { groupKindName } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { InformerState } from './informer.ts'

/**
 * Stable codes of {@link KindUnavailable}, one per state that is not Synced:
 * - `KindSyncing`: the first list is not complete yet; the reader is woken when it is.
 * - `KindForbidden`: the controller may not list or watch the kind; the message names the verb and the resource.
 * - `KindAbsent`: the server serves no such kind; the reader is woken when it does.
 */
export type KindUnavailableCode = 'KindSyncing' | 'KindForbidden' | 'KindAbsent'

/** The objects of a kind are unknown. Unknown is not deleted: decide nothing from it (design decision 7). */
export class KindUnavailable extends Error {
  readonly code: KindUnavailableCode
  readonly kind: Kind
  readonly state: Exclude<InformerState, 'Synced'>

  constructor(kind: Kind, state: Exclude<InformerState, 'Synced'>, cause: unknown) {
    super(unavailableMessage(kind, state, cause), { cause })
    this.name = 'KindUnavailable'
    this.code = `Kind${state}`
    this.kind = kind
    this.state = state
  }
}

function unavailableMessage(kind: Kind, state: Exclude<InformerState, 'Synced'>, cause: unknown): string {
  const name = groupKindName(kind)
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  switch (state) {
    case 'Syncing':
      return `${name} is still being listed${why}`
    case 'Forbidden':
      return `${name} cannot be read${why}`
    case 'Absent':
      return `The server serves no ${name} in ${kind.apiVersion}; install its CustomResourceDefinition or check the spelling`
  }
}
