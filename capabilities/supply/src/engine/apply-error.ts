// The error of a stamped object that could not be written or listed.

/**
 * An object of an owner could not be written or listed.
 * - `TemplateRejectedByAPIServer`: the API server rejected the stamped object; also the reason of the condition, as in
 *   Cartographer.
 * - `FailedToListCreatedObjects`: the kind cannot be listed (not synced yet, or forbidden), so nothing is decided.
 */
export class ApplyError extends Error {
  override readonly name = 'ApplyError'
  readonly code: 'TemplateRejectedByAPIServer' | 'FailedToListCreatedObjects'
  /**
   * True to retry with backoff; false when the owner is requeued by a change of the cause (RBAC, a CRD, the state of an
   * informer).
   */
  readonly retryable: boolean

  constructor(
    code: ApplyError['code'],
    message: string,
    options: { readonly retryable: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryable = options.retryable
  }
}
