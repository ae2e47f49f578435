// What goes wrong on this side of the wire. What the API server refuses is a StatusError of @fairlead/kube.

/**
 * Stable codes of {@link ClientError}:
 * - `ConnectionFailed`: no answer came (refused, reset, timed out, not TLS). `remote` is true: retry later.
 * - `InvalidResponse`: an answer came that is not JSON where JSON was due.
 * - `InvalidKubeconfig`: a kubeconfig file, or a file it names, cannot be read or makes no sense.
 * - `UnsupportedCredentials`: the kubeconfig asks for a login method that this version lacks.
 * - `CredentialsFailed`: a login plugin or an identity provider gave no credentials. `remote` is true.
 * - `UnknownKind`: the server serves no such kind.
 * - `InvalidRequest`: the call lacks something (a name, a namespace).
 * - `Collision`: an object of that name exists and is not ours; nothing of it was changed.
 * - `WaitTimeout`: a condition that was waited for did not come true in time.
 */
export type ClientErrorCode =
  | 'ConnectionFailed'
  | 'InvalidResponse'
  | 'InvalidKubeconfig'
  | 'UnsupportedCredentials'
  | 'CredentialsFailed'
  | 'UnknownKind'
  | 'InvalidRequest'
  | 'Collision'
  | 'WaitTimeout'

/** An error of the client itself. */
export class ClientError extends Error {
  readonly code: ClientErrorCode
  /** The cause lies with something remote that may come back: back off to 60 s at most (design decision 14). */
  readonly remote: boolean

  constructor(code: ClientErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ClientError'
    this.code = code
    this.remote = code === 'ConnectionFailed' || code === 'InvalidResponse' || code === 'CredentialsFailed'
  }
}

/** The error is a {@link ClientError}, of that code when one is given. */
export function isClientError(error: unknown, code?: ClientErrorCode): error is ClientError {
  return error instanceof ClientError && (code === undefined || error.code === code)
}
