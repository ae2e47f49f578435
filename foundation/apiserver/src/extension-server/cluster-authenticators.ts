// The authenticators of an extension API server: the cluster's front proxy with the headers of its user, client
// certificates of the cluster, and bearer tokens by TokenReview.
import { createHash } from 'node:crypto'
import type { Client } from '@fairlead/client'
import type { Clock, JsonObject, UserInfo } from '@fairlead/kube'
import { bearerToken, certificateAuthenticator } from '../auth/authenticators.ts'
import type { Authenticator, Credentials } from '../identity/credentials.ts'
import { postReview } from './cluster-reviews.ts'
import type { AuthenticationSettings, Authorities, FrontProxySettings } from './front-proxy-settings.ts'
import { ResponseCache } from './response-cache.ts'

/** Time for which a TokenReview is cached, that of k8s.io/apiserver's extension servers. Milliseconds. */
const cacheLifetime = 10_000
const cacheSize = 10_000

/**
 * Returns the authenticators in order. A certificate that none of them recognizes is invalid rather than anonymous;
 * headers of the proxy are ignored without its certificate.
 */
export function clusterAuthenticators(
  settings: () => AuthenticationSettings,
  client: Client,
  clock: Clock,
): readonly Authenticator[] {
  return [
    {
      name: 'request-header',
      authenticate: async (credentials) => {
        const { frontProxy } = settings()
        return frontProxy === undefined ? undefined : userOfHeaders(credentials, frontProxy)
      },
    },
    {
      name: 'client-certificate',
      authenticate: async (credentials) =>
        isSignedBy(credentials, settings().clientAuthorities)
          ? certificateAuthenticator.authenticate(credentials)
          : undefined,
    },
    tokenReviews(client, clock),
    {
      name: 'unknown-certificate',
      authenticate: async ({ certificate }) => (certificate === undefined ? undefined : 'invalid'),
    },
  ]
}

/**
 * Returns the user in the headers of the front proxy; undefined when the request is not from the proxy, or names no
 * user.
 */
export function userOfHeaders(credentials: Credentials, proxy: FrontProxySettings): UserInfo | undefined {
  const { allowedNames } = proxy
  if (!isSignedBy(credentials, proxy.authorities)) return undefined
  if (allowedNames.length > 0 && !allowedNames.includes(credentials.certificate!.commonName)) return undefined
  const values = (name: string): readonly string[] => valuesOf(credentials, name)
  const first = (names: readonly string[]): string => names.flatMap(values).find((value) => value !== '') ?? ''
  const name = first(proxy.usernameHeaders)
  if (name === '') return undefined
  const uid = first(proxy.uidHeaders)
  const extra = extraOf(credentials, proxy.extraPrefixes)
  return {
    name,
    ...(uid === '' ? {} : { uid }),
    groups: proxy.groupHeaders.flatMap(values).filter((group) => group !== ''),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

function extraOf(credentials: Credentials, prefixes: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const extra: [string, readonly string[]][] = []
  for (const name of Object.keys(credentials.headers)) {
    const prefix = prefixes.find((candidate) => name.startsWith(candidate))
    if (prefix !== undefined && name.length > prefix.length)
      extra.push([decodeKey(name.slice(prefix.length)), valuesOf(credentials, name)])
  }
  return Object.fromEntries(extra)
}

function valuesOf({ repeated, headers }: Credentials, name: string): readonly string[] {
  const value = repeated?.[name] ?? headers[name] ?? []
  return typeof value === 'string' ? [value] : value
}

/** Decodes the key of an extra field, which is percent-encoded in header names; invalid escapes stay as they are. */
function decodeKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

function isSignedBy({ certificate }: Credentials, { fingerprints }: Authorities): boolean {
  return certificate?.authorities?.some((fingerprint) => fingerprints.has(fingerprint)) === true
}

/** Authenticates tokens by TokenReview. Needs permission to create `tokenreviews` (`system:auth-delegator`). */
function tokenReviews(client: Client, clock: Clock): Authenticator {
  const users = new ResponseCache<UserInfo | undefined>(clock, cacheLifetime, cacheSize)
  return {
    name: 'token-review',
    authenticate: async (credentials) => {
      const token = bearerToken(credentials)
      if (token === undefined) return undefined
      const key = createHash('sha256').update(token).digest('base64')
      return (await users.get(key, () => reviewToken(client, clock, token))) ?? 'invalid'
    },
  }
}

interface ReviewedUser {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[] | null
  readonly extra?: Readonly<Record<string, readonly string[]>> | null
}

async function reviewToken(client: Client, clock: Clock, token: string): Promise<UserInfo | undefined> {
  const review: JsonObject = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
  const status = await postReview(client, clock, '/apis/authentication.k8s.io/v1/tokenreviews', review)
  const { username = '', uid, groups, extra } = (status['user'] ?? {}) as ReviewedUser
  if (status['authenticated'] !== true || username === '') return undefined
  return {
    name: username,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    groups: groups ?? [],
    ...(extra === undefined || extra === null ? {} : { extra }),
  }
}
