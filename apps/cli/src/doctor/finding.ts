// Findings of `fairlead doctor`: one line each, with what to do.

/** The outcome of one check. */
export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail'
  /** The subject of the check: `clock`, `rights of supply`. */
  readonly check: string
  /** The finding; for `warn` and `fail` also what to do. */
  readonly message: string
}

/** Returns a finding of each status. */
export const ok = (check: string, message: string): Finding => ({ status: 'ok', check, message })
/** See {@link ok}. */
export const warn = (check: string, message: string): Finding => ({ status: 'warn', check, message })
/** See {@link ok}. */
export const fail = (check: string, message: string): Finding => ({ status: 'fail', check, message })
