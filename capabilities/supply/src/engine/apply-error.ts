// The error of a stamped object that could not be written or listed.

/**
 * When to retry:
 * - `backoff`: with backoff.
 * - `denied`: RBAC refused. A change of RBAC requeues the owner, but it can be missed (the event may arrive before the
 *   authorizer of another replica of the API server knows it), so it is retried late as well.
 * - `woken`: when the cause changes (a CRD, the state of an informer), which requeues the owner.
 */
export type Retry = 'backoff' | 'denied' | 'woken'

/**
 * An object of an owner could not be written or listed.
 * - `TemplateRejectedByAPIServer`: the API server rejected the stamped object; also the reason of the condition, as in
 *   Cartographer.
 * - `FailedToListCreatedObjects`: the kind cannot be listed (not synced yet, or forbidden), so nothing is decided.
 */
export class ApplyError extends Error {
  override readonly name = 'ApplyError'
  readonly code: 'TemplateRejectedByAPIServer' | 'FailedToListCreatedObjects'
  readonly retry: Retry

  constructor(code: ApplyError['code'], message: string, options: { readonly retry: Retry; readonly cause?: unknown }) {
    super(message, { cause: options.cause })
    this.code = code
    this.retry = options.retry
  }
}
