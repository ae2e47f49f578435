// Who calls a server behind an APIService: the cluster's front proxy on behalf of somebody, bearers of the cluster's client certificates, and bearers of
// tokens that the cluster knows.
import { createHash } from 'node:crypto'
import type { Client } from '@fairlead/client'
import type { Clock, JsonObject, UserInfo } from '@fairlead/kube'
import { bearerToken, certificateAuthenticator } from '../auth/authenticators.ts'
import type { Authenticator, Credentials } from '../identity/credentials.ts'
import { askCluster } from './cluster-questions.ts'
import type { AuthenticationSettings, Authorities, FrontProxySettings } from './front-proxy-settings.ts'
import { RememberedAnswers } from './remembered-answers.ts'

/** As kube's own extension servers. Milliseconds. */
const lifetime = 10_000
const mostAnswers = 10_000

/**
 * The chain, in order. A certificate that none of them wants makes the caller nobody who could be let in, rather than anonymous; headers of the
 * proxy count for nothing without its certificate.
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
        isVouchedFor(credentials, settings().clientAuthorities)
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

/** Whom the front proxy speaks for; undefined when it is not the proxy who speaks, or for nobody. */
export function userOfHeaders(credentials: Credentials, proxy: FrontProxySettings): UserInfo | undefined {
  const { allowedNames } = proxy
  if (!isVouchedFor(credentials, proxy.authorities)) return undefined
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

/** Keys of extra fields are percent-encoded in header names; what is no escape stays as it is. */
function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function isVouchedFor({ certificate }: Credentials, { fingerprints }: Authorities): boolean {
  return certificate?.authorities?.some((fingerprint) => fingerprints.has(fingerprint)) === true
}

/** Needs the right to create `tokenreviews` (`system:auth-delegator`). */
function tokenReviews(client: Client, clock: Clock): Authenticator {
  const answers = new RememberedAnswers<UserInfo | undefined>(clock, lifetime, mostAnswers)
  return {
    name: 'token-review',
    authenticate: async (credentials) => {
      const token = bearerToken(credentials)
      if (token === undefined) return undefined
      const question = createHash('sha256').update(token).digest('base64')
      return (await answers.of(question, () => reviewToken(client, clock, token))) ?? 'invalid'
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
  const status = await askCluster(client, clock, '/apis/authentication.k8s.io/v1/tokenreviews', review)
  const { username = '', uid, groups, extra } = (status['user'] ?? {}) as ReviewedUser
  if (status['authenticated'] !== true || username === '') return undefined
  return {
    name: username,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    groups: groups ?? [],
    ...(extra === undefined || extra === null ? {} : { extra }),
  }
}
