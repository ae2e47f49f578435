// Who asks: a chain of authenticators, the first that knows the credentials decides. Bad credentials are refused, none at all are anonymous.
import { timingSafeEqual } from 'node:crypto'
import type { Authenticator, Credentials } from '../identity/credentials.ts'
import type { UserInfo } from '@fairlead/kube'
import { anonymous, authenticatedGroup, credentialIdKey, unauthenticatedGroup } from '../identity/well-known-users.ts'

/** A user who comes with a fixed bearer token. */
export interface StaticToken {
  readonly token: string
  readonly user: UserInfo
}

/**
 * Asks every link in turn. Undefined means 401. A user gets the group of those who were authenticated; with `allowAnonymous`, someone without
 * credentials is `system:anonymous`, but a bad bearer token never is.
 */
export async function authenticate(
  chain: readonly Authenticator[],
  credentials: Credentials,
  allowAnonymous: boolean = true,
): Promise<UserInfo | undefined> {
  const user = await authenticatorChain(chain).authenticate(credentials)
  if (user === 'invalid') return undefined
  return user ?? (allowAnonymous ? anonymous : undefined)
}

/** Several authenticators as one: the first that knows the credentials decides; credentials that nobody knows are invalid. */
export function authenticatorChain(links: readonly Authenticator[]): Authenticator {
  return {
    name: 'chain',
    authenticate: async (credentials) => {
      for (const link of links) {
        const user = await link.authenticate(credentials)
        if (user === 'invalid') return 'invalid'
        if (user !== undefined) return withAuthenticatedGroup(user)
      }
      return bearerToken(credentials) !== undefined || credentials.untrusted === true ? 'invalid' : undefined
    },
  }
}

/** The user with `system:authenticated` as the last group. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  let completed = completedUsers.get(user)
  if (completed === undefined) {
    const isComplete = user.groups.includes(authenticatedGroup) || user.groups.includes(unauthenticatedGroup)
    completed = isComplete ? user : { ...user, groups: [...user.groups, authenticatedGroup] }
    completedUsers.set(user, completed)
  }
  return completed
}

/** Users of static tokens come with every request. */
const completedUsers = new WeakMap<UserInfo, UserInfo>()

/** The token of an `Authorization: Bearer` header; undefined for other schemes and for an empty token. */
export function bearerToken({ authorization }: Credentials): string | undefined {
  const parts = authorization?.trim().split(' ') ?? []
  if (parts.length < 2 || parts[0]!.toLowerCase() !== 'bearer') return undefined
  return parts[1] === '' ? undefined : parts[1]
}

/** Client certificates that the TLS layer has verified: the common name is the user, organizations are the groups. */
export const certificateAuthenticator: Authenticator = {
  name: 'client-certificate',
  authenticate: ({ certificate }) => {
    if (certificate === undefined || certificate.commonName === '') return Promise.resolve(undefined)
    const { commonName, organizations, fingerprint } = certificate
    return Promise.resolve({
      name: commonName,
      groups: organizations,
      ...(fingerprint !== undefined && { extra: { [credentialIdKey]: [`X509SHA256=${fingerprint}`] } }),
    })
  },
}

/** Tokens that were given out by hand, as `--token-auth-file` does. */
export function staticTokens(tokens: Iterable<StaticToken>): Authenticator {
  const known = [...tokens].map(({ token, user }) => ({ bytes: Buffer.from(token), user }))
  return {
    name: 'static-token',
    authenticate: (credentials) => {
      const token = bearerToken(credentials)
      if (token === undefined) return Promise.resolve(undefined)
      const bytes = Buffer.from(token)
      const match = known.find(
        (candidate) => candidate.bytes.length === bytes.length && timingSafeEqual(candidate.bytes, bytes),
      )
      return Promise.resolve(match?.user)
    },
  }
}
