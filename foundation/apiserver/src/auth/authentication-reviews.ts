// Authentication reviews (authentication.k8s.io): SelfSubjectReview and TokenReview.
import { badRequest } from '@fairlead/kube'
import type { JsonObject, KubeObject, UserInfo } from '@fairlead/kube'
import { authenticate, withAuthenticatedGroup } from './authenticators.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'
import type { Authenticator } from '../identity/credentials.ts'
import { timestamp } from '../objects/timestamp.ts'

/** The context of a TokenReview. */
export interface TokenReviewContext {
  readonly authenticators: readonly Authenticator[]
  /** Verifies tokens for the audiences of a review; without it only the server's own audiences are known. */
  readonly tokens: ServiceAccountTokens | undefined
  /** Audiences of this server. */
  readonly audiences: readonly string[]
}

/** Answers a SelfSubjectReview with the user of the request. `now` is milliseconds since the epoch. */
export function reviewSelf(object: KubeObject, user: UserInfo, now: number): KubeObject {
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { creationTimestamp: timestamp(now) },
    status: { userInfo: userInfo(user) },
  }
}

/** Answers a TokenReview with the user of the token. Throws a StatusError 400 without a token. */
export async function reviewToken(object: KubeObject, context: TokenReviewContext): Promise<KubeObject> {
  const { token = '', audiences } = (object.spec ?? {}) as { token?: string; audiences?: readonly string[] | null }
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const wanted = audiences === undefined || audiences === null || audiences.length === 0 ? context.audiences : audiences
  const found = await findUser(token, wanted, context)
  const reason = found === undefined ? await context.tokens?.invalidReason(token, wanted) : undefined
  const status: JsonObject =
    found === undefined
      ? { user: {}, error: reason === undefined ? 'invalid bearer token' : `[invalid bearer token, ${reason}]` }
      : { authenticated: true, user: userInfo(found.user), audiences: [...found.audiences] }
  return { ...object, status }
}

async function findUser(
  token: string,
  wanted: readonly string[],
  { authenticators, tokens, audiences }: TokenReviewContext,
): Promise<{ readonly user: UserInfo; readonly audiences: readonly string[] } | undefined> {
  const verified = await tokens?.verify(token, wanted)
  if (verified !== undefined) return { user: withAuthenticatedGroup(verified.user), audiences: verified.audiences }
  const common = wanted.filter((audience) => audiences.includes(audience))
  if (common.length === 0) return undefined
  const user = await authenticate(
    authenticators,
    { authorization: `Bearer ${token}`, certificate: undefined, headers: {} },
    false,
  )
  return user === undefined ? undefined : { user, audiences: common }
}

/** Returns a user as reviews and admission requests contain it, without empty fields. */
export function userInfo({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username: name,
    ...(uid !== undefined && uid !== '' && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra !== undefined && { extra: extra as JsonObject }),
  }
}
