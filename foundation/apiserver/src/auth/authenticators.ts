// Authentication of requests: a union of authenticators; the first that recognizes the credentials decides. Invalid
// credentials are rejected, requests without credentials are anonymous.
import { timingSafeEqual } from 'node:crypto'
import type { Authenticator, Credentials } from '../identity/credentials.ts'
import type { UserInfo } from '@fairlead/kube'
import { anonymous, authenticatedGroup, credentialIdKey, unauthenticatedGroup } from '../identity/well-known-users.ts'

/** A user with a fixed bearer token. */
export interface StaticToken {
  readonly token: string
  readonly user: UserInfo
}

/**
 * Tries the authenticators in order. Returns undefined for a 401. A user gets the group `system:authenticated`; with
 * `allowAnonymous` a request without credentials is of `system:anonymous`, one with an invalid bearer token never.
 */
export async function authenticate(
  authenticators: readonly Authenticator[],
  credentials: Credentials,
  allowAnonymous: boolean = true,
): Promise<UserInfo | undefined> {
  const user = await authenticatorUnion(authenticators).authenticate(credentials)
  if (user === 'invalid') return undefined
  return user ?? (allowAnonymous ? anonymous : undefined)
}

/**
 * Combines authenticators: the first that recognizes the credentials decides; credentials that none recognizes are
 * invalid.
 */
export function authenticatorUnion(authenticators: readonly Authenticator[]): Authenticator {
  return {
    name: 'union',
    authenticate: async (credentials) => {
      for (const authenticator of authenticators) {
        const user = await authenticator.authenticate(credentials)
        if (user === 'invalid') return 'invalid'
        if (user !== undefined) return withAuthenticatedGroup(user)
      }
      return bearerToken(credentials) !== undefined || credentials.untrusted === true ? 'invalid' : undefined
    },
  }
}

/** Returns the user with `system:authenticated` as the last group. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  let completed = completedUsers.get(user)
  if (completed === undefined) {
    const isComplete = user.groups.includes(authenticatedGroup) || user.groups.includes(unauthenticatedGroup)
    completed = isComplete ? user : { ...user, groups: [...user.groups, authenticatedGroup] }
    completedUsers.set(user, completed)
  }
  return completed
}

/** Caches the completed users of static tokens, which are the same for every request. */
const completedUsers = new WeakMap<UserInfo, UserInfo>()

/** Returns the token of an `Authorization: Bearer` header; undefined for other schemes and for an empty token. */
export function bearerToken({ authorization }: Credentials): string | undefined {
  const parts = authorization?.trim().split(' ') ?? []
  if (parts.length < 2 || parts[0]!.toLowerCase() !== 'bearer') return undefined
  return parts[1] === '' ? undefined : parts[1]
}

/**
 * Authenticates client certificates that the TLS layer has verified: the common name is the user, organizations are the
 * groups.
 */
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

/** Authenticates static tokens, as `--token-auth-file` does. */
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
