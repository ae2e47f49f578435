// The hooks of a MapController as the engine calls them; hook/ implements them as webhooks and expressions.
import type { ResponseReservation } from '@fairlead/controller'
import type { RequestFacts } from './request.ts'
import type { ResponseBody } from './response.ts'

/** The hooks that a MapController may have. */
export type HookName = 'map' | 'tombstone'

/** A call of a hook. The hook itself adds `version` and `trim` to the facts. */
export interface HookCall {
  readonly facts: Omit<RequestFacts, 'version' | 'trim'>
  /** Names the group uniquely among all controllers; the key of cached responses (Q33). */
  readonly group: string
  /** Time of the call, in milliseconds since the epoch. */
  readonly now: number
  readonly signal: AbortSignal
  /** Holds the memory of a large response until it is disposed. */
  readonly reservation?: ResponseReservation
}

/** A hook. */
export interface Hook {
  /** Unknown and duplicate fields of responses are errors. */
  readonly strict: boolean
  /**
   * Calls the hook. Throws RemoteError for a failure of the server, HookBusyError when the server asks to retry later,
   * ExpressionError for an expression.
   */
  call(call: HookCall): Promise<ResponseBody>
}

/** The hooks of one MapController. */
export interface Hooks extends AsyncDisposable {
  readonly map: Hook
  readonly tombstone: Hook | undefined
}

/**
 * The hook responded 429 with Retry-After: it is called again then, and no event is emitted (Q14).
 * @internal
 */
export class HookBusyError extends Error {
  override readonly name = 'HookBusyError'
  readonly code = 'HookBusy'
  /** Milliseconds. */
  readonly retryAfter: number

  constructor(retryAfter: number) {
    super(`The hook asked to wait ${retryAfter / 1000} s`)
    this.retryAfter = retryAfter
  }
}
