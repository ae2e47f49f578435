// What it takes to reach one API server as someone.
import type { Clock } from '@fairlead/kube'
import type { Impersonation } from '../transport.ts'
import type { Login } from './login/login.ts'

/** A server and the credentials for it; what kubeconfig and the in-cluster files come down to. */
export interface Connection {
  /** URL, with a path when the server lives under one. */
  readonly server: string
  /** Certificates to trust (PEM); those of the system when left out. */
  readonly ca?: string | Buffer
  /** Does not check the server's certificate. */
  readonly insecure?: boolean
  /** Name that the server's certificate must carry, where it is not the host of `server`. */
  readonly tlsServerName?: string
  /** `http://` or `https://` proxy that speaks CONNECT, or a `socks5://` one. */
  readonly proxyUrl?: string
  /** Client certificate and key (PEM). */
  readonly certificate?: string | Buffer
  readonly key?: string | Buffer
  /** Bearer token. */
  readonly token?: string
  /**
   * File with the bearer token, read again every minute because it rotates. Wins over `token`, which serves while the
   * file cannot be read.
   */
  readonly tokenFile?: string
  /** Credentials that are fetched and run out; win over all others. */
  readonly login?: (clock: Clock) => Login
  readonly username?: string
  readonly password?: string
  readonly impersonate?: Impersonation
  /** Namespace for objects that name none; `default` when left out. */
  readonly namespace?: string
}
