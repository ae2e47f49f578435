// Errors that the fake returns, as the services word them.

/** A refused call. */
export class FakeError extends Error {
  /** Code of the service. */
  readonly code: string
  readonly status: number
  /** Response over HTTP, where it is not the error itself. */
  readonly as: 'error' | 'reset' | 'hang' | 'garbage'

  constructor(code: string, message: string, status: number = 400, as: FakeError['as'] = 'error') {
    super(message)
    this.name = 'FakeError'
    this.code = code
    this.status = status
    this.as = as
  }
}

/** Returns the error of a call that is malformed, or names what does not exist. */
export function validation(message: string): FakeError {
  return new FakeError('ValidationException', message)
}
