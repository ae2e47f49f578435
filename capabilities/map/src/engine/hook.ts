// What answers for a MapController: servers or expressions behind one interface.
import type { AnswerBody } from './response.ts'
import type { RequestFacts } from './request.ts'

/** A call. `version` and `trim` of the facts are the hook's own business. */
export interface HookCall {
  readonly facts: Omit<RequestFacts, 'version' | 'trim'>
  /** Names the group over all controllers; the key of cached answers (Q33). */
  readonly group: string
  /** The time of the call, in milliseconds since the epoch. */
  readonly now: number
  readonly signal: AbortSignal
}

/** A hook. */
export interface Hook {
  /** Unknown and duplicate fields of answers are errors. */
  readonly strict: boolean
  /** Asks. Throws RemoteError for what a server does wrong, HookBusyError when it asks for patience, ExpressionError for an expression. */
  call(call: HookCall): Promise<AnswerBody>
}

/** The hooks of one MapController. */
export interface Hooks extends AsyncDisposable {
  readonly map: Hook
  readonly tombstone: Hook | undefined
}

/**
 * The hook answered 429 with Retry-After: it is asked again then, and nobody is told (Q14).
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
