// Conversion of node:https requests to the handler's: path, query, headers, and the identity in the client certificate.
import { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import type { Credentials } from '../identity/credentials.ts'
import type { HttpRequest } from './http-message.ts'
import type { RequestTarget, ServerRequest } from './message.ts'

type Headers = ServerRequest['headers']
type PeerCertificate = Pick<Credentials, 'certificate' | 'untrusted'>

const certificates = new WeakMap<object, PeerCertificate>()

/** The parsed request target. */
export interface RequestHead {
  readonly path: string
  readonly query: URLSearchParams
  readonly target: RequestTarget | undefined
}

/** Returns the handler's request. */
export function serverRequest(
  request: HttpRequest,
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
    remoteAddress: request.socket.remoteAddress,
    signal,
  }
}

/** Returns the credentials of a request, for upgrades too. */
export function readCredentials(request: HttpRequest, headers: Headers = readHeaders(request)): Credentials {
  return {
    authorization: request.headers.authorization,
    headers,
    get repeated() {
      return request.headersDistinct
    },
    ...peerCertificate(request.socket as TLSSocket),
  }
}

/** Splits a request target into path and query; proxies send whole URLs. */
export function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const local = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const mark = local.indexOf('?')
  const path = mark < 0 ? local : local.slice(0, mark)
  return { path: path === '' ? '/' : path, query: new URLSearchParams(mark < 0 ? '' : local.slice(mark + 1)) }
}

/** Returns the headers; those that may be repeated, of impersonation, as lists. */
function readHeaders(request: HttpRequest): Headers {
  const { headers } = request
  let lists: Record<string, readonly string[]> | undefined
  for (const name in headers) {
    if (!name.startsWith('impersonate-')) continue
    lists ??= {}
    lists[name] = request.headersDistinct[name] ?? []
  }
  return lists === undefined ? headers : { ...headers, ...lists }
}

function peerCertificate(socket: TLSSocket): PeerCertificate {
  let known = certificates.get(socket)
  if (known === undefined) {
    known = readCertificate(socket)
    certificates.set(socket, known)
  }
  return known
}

function readCertificate(socket: TLSSocket): PeerCertificate {
  const certificate = socket.getPeerCertificate(true)
  // Node returns an empty object when the client has sent none.
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
 * Returns the authorities above a certificate in its chain; a self-signed one is its own authority. The chain is what
 * the client sent, so names prove nothing and every signature is checked.
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
