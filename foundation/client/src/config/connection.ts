// The address of an API server and the credentials for it.
import type { Clock } from '@fairlead/kube'
import type { Impersonation } from '../impersonation.ts'
import type { Login } from '../login.ts'

/** A server and the credentials for it, as read from kubeconfig or the in-cluster files. */
export interface Connection {
  /** URL, with a path when the server is served under one. */
  readonly server: string
  /** Certificates to trust (PEM); those of the system when left out. */
  readonly ca?: string | Buffer
  /** Does not check the server's certificate. */
  readonly insecure?: boolean
  /** Name in the server's certificate, where it is not the host of `server`. */
  readonly tlsServerName?: string
  /** `http://` or `https://` proxy that supports CONNECT, or a `socks5://` one. */
  readonly proxyUrl?: string
  /** Client certificate and key (PEM). */
  readonly certificate?: string | Buffer
  readonly key?: string | Buffer
  /** Bearer token. */
  readonly token?: string
  /**
   * File with the bearer token, read again every minute because it rotates. Takes precedence over `token`, which is
   * used while the file cannot be read.
   */
  readonly tokenFile?: string
  /** Credentials that are fetched and expire; they take precedence over all others. */
  readonly login?: (clock: Clock) => Login
  readonly username?: string
  readonly password?: string
  readonly impersonate?: Impersonation
  /** Namespace for objects that name none; `default` when left out. */
  readonly namespace?: string
}
