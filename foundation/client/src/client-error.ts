// Errors of the client itself. Errors that the API server returns are StatusErrors of @fairlead/kube.

/**
 * Stable codes of {@link ClientError}:
 * - `ConnectionFailed`: there was no response (refused, reset, timed out, not TLS). `remote` is true: retry later.
 * - `ResponseLate`: a list or watch is still without its response; the attempt goes on. `remote` is true.
 * - `InvalidResponse`: the response is not JSON where JSON was expected.
 * - `InvalidKubeconfig`: a kubeconfig file, or a file it names, cannot be read or is invalid.
 * - `UnsupportedCredentials`: the kubeconfig asks for a login method that this version lacks.
 * - `CredentialsFailed`: a login plugin or an identity provider returned no credentials. `remote` is true.
 * - `UnknownKind`: the server serves no such kind.
 * - `InvalidRequest`: the call lacks something (a name, a namespace).
 * - `Collision`: an object of that name exists and is not ours; it was not changed.
 * - `WaitTimeout`: an awaited condition did not become true in time.
 */
export type ClientErrorCode =
  | 'ConnectionFailed'
  | 'ResponseLate'
  | 'InvalidResponse'
  | 'InvalidKubeconfig'
  | 'UnsupportedCredentials'
  | 'CredentialsFailed'
  | 'UnknownKind'
  | 'InvalidRequest'
  | 'Collision'
  | 'WaitTimeout'

const remoteCodes: ReadonlySet<ClientErrorCode> = new Set([
  'ConnectionFailed',
  'ResponseLate',
  'InvalidResponse',
  'CredentialsFailed',
])

/** An error of the client itself. */
export class ClientError extends Error {
  readonly code: ClientErrorCode
  /** The cause is remote and may pass: back off to 60 s at most (design decision 14). */
  readonly remote: boolean
  /** Host and port of the server that did not respond, for `ConnectionFailed`. */
  readonly server: string | undefined

  constructor(code: ClientErrorCode, message: string, options?: { cause?: unknown; server?: string }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ClientError'
    this.code = code
    this.server = options?.server
    this.remote = remoteCodes.has(code)
  }
}

/** Reports whether an error is a {@link ClientError}, of that code when one is given. */
export function isClientError(error: unknown, code?: ClientErrorCode): error is ClientError {
  return error instanceof ClientError && (code === undefined || error.code === code)
}
