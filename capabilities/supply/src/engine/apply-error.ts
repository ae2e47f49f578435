// The error of a stamped object that could not be written or listed.

/**
 * An object of an owner could not be written or listed.
 * - `TemplateRejectedByAPIServer`: the API server rejected the stamped object; also the reason of the condition, as in Cartographer.
 * - `FailedToListCreatedObjects`: the kind cannot be listed (not synced yet, or forbidden), so nothing is decided.
 */
export class ApplyError extends Error {
  override readonly name = 'ApplyError'
  readonly code: 'TemplateRejectedByAPIServer' | 'FailedToListCreatedObjects'
  /** Whether to retry with backoff. If not, the owner is requeued when the cause changes (RBAC, a CRD, the sync of an informer). */
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
