// Authentication as a contract: the credentials of a request, and the interface of the authenticators that turn them
// into a user.
import type { UserInfo } from '@fairlead/kube'

/** The subject and the chain of a verified client certificate. */
export interface ClientCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** SHA-256 of the certificate in hex. */
  readonly fingerprint?: string
  /** SHA-256 of the authorities above it, in hex; the last one is trusted. */
  readonly authorities?: readonly string[]
}

/** The parts of a request that an authenticator may read. */
export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization: string | undefined
  /** The verified client certificate of the TLS connection. */
  readonly certificate: ClientCertificate | undefined
  /**
   * The client certificate was not signed by a trusted authority: without other credentials the request is rejected,
   * not anonymous.
   */
  readonly untrusted?: boolean
  /** All headers, names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** All headers with each value on its own, where the transport can separate them. */
  readonly repeated?: Readonly<Record<string, readonly string[] | undefined>>
}

/**
 * One authenticator of the union: returns a user, `undefined` when these credentials are not its own kind, or
 * `'invalid'`.
 */
export interface Authenticator {
  readonly name: string
  authenticate(credentials: Credentials): Promise<UserInfo | undefined | 'invalid'>
}
