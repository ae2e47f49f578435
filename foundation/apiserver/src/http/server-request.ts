// From node:https to the handler's request: path, query, headers, and whom the client certificate speaks of.
import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import type { Credentials } from '../identity/credentials.ts'
import type { RequestTarget, ServerRequest } from './message.ts'

type Headers = ServerRequest['headers']
type ShownCertificate = Pick<Credentials, 'certificate' | 'untrusted'>

const shownCertificates = new WeakMap<object, ShownCertificate>()

/** The parsed request target. */
export interface RequestHead {
  readonly path: string
  readonly query: URLSearchParams
  readonly target: RequestTarget | undefined
}

/** Returns the handler's request. */
export function serverRequest(
  request: IncomingMessage,
  { path, query, target }: RequestHead,
  body: Uint8Array | undefined,
  signal: AbortSignal,
): ServerRequest {
  const headers = readHeaders(request)
  return {
    method: request.method ?? 'GET',
    path,
    query,
    headers,
    body,
    target,
    credentials: readCredentials(request, headers),
    signal,
  }
}

/** Who is on the other side, for requests that become a connection of their own (upgrade). */
export function readCredentials(request: IncomingMessage, headers: Headers = readHeaders(request)): Credentials {
  return {
    authorization: request.headers.authorization,
    headers,
    get repeated() {
      return request.headersDistinct
    },
    ...shownCertificate(request.socket as TLSSocket),
  }
}

/** Path and query of a request target; proxies send whole URLs. */
export function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const local = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const mark = local.indexOf('?')
  const path = mark < 0 ? local : local.slice(0, mark)
  return { path: path === '' ? '/' : path, query: new URLSearchParams(mark < 0 ? '' : local.slice(mark + 1)) }
}

/** Headers that may be repeated, each value a whole one: impersonation. */
function readHeaders(request: IncomingMessage): Headers {
  const { headers } = request
  let lists: Record<string, readonly string[]> | undefined
  for (const name in headers) {
    if (!name.startsWith('impersonate-')) continue
    lists ??= {}
    lists[name] = request.headersDistinct[name] ?? []
  }
  return lists === undefined ? headers : { ...headers, ...lists }
}

function shownCertificate(socket: TLSSocket): ShownCertificate {
  let shown = shownCertificates.get(socket)
  if (shown === undefined) {
    shown = readCertificate(socket)
    shownCertificates.set(socket, shown)
  }
  return shown
}

function readCertificate(socket: TLSSocket): ShownCertificate {
  const certificate = socket.getPeerCertificate(true)
  // Node answers an empty object when the client has shown none.
  if (certificate?.fingerprint256 === undefined) return { certificate: undefined }
  if (!socket.authorized) return { certificate: undefined, untrusted: true }
  let authorities: readonly string[] | undefined
  return {
    certificate: {
      commonName: valuesOf(certificate.subject.CN)[0] ?? '',
      organizations: valuesOf(certificate.subject.O),
      fingerprint: fingerprintOf(certificate),
      get authorities() {
        return (authorities ??= authoritiesOf(certificate))
      },
    },
  }
}

/**
 * What stands above a certificate in its chain; one that signed itself is its own authority. Names alone prove nothing:
 * the chain is what the client sent, so every signature is checked.
 */
function authoritiesOf(leaf: DetailedPeerCertificate): readonly string[] {
  const authorities = new Set<string>()
  let at = leaf
  while (at.issuerCertificate !== undefined) {
    const issuer = at.issuerCertificate
    const fingerprint = fingerprintOf(issuer)
    if (authorities.has(fingerprint) || !isSignedBy(at, issuer)) break
    authorities.add(fingerprint)
    at = issuer
  }
  return [...authorities]
}

function isSignedBy({ raw }: DetailedPeerCertificate, issuer: DetailedPeerCertificate): boolean {
  return new X509Certificate(raw).verify(new X509Certificate(issuer.raw).publicKey)
}

function fingerprintOf({ fingerprint256 }: DetailedPeerCertificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase()
}

function valuesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}
