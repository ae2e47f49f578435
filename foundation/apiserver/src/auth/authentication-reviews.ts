// Questions about identity (authentication.k8s.io): who am I, and whose token is this.
import { badRequest } from '@fairlead/kube'
import type { JsonObject, KubeObject, UserInfo } from '@fairlead/kube'
import { authenticate, withAuthenticatedGroup } from './authenticators.ts'
import type { ServiceAccountTokens } from './service-account-tokens.ts'
import type { Authenticator } from '../identity/credentials.ts'

/** What TokenReview asks. */
export interface TokenReviewContext {
  readonly authenticators: readonly Authenticator[]
  /** Checked for the audiences that a review names; without it only this server's are known. */
  readonly tokens: ServiceAccountTokens | undefined
  /** Audiences of this server. */
  readonly audiences: readonly string[]
}

/** SelfSubjectReview: the caller as the server sees them. `now` is milliseconds since the epoch. */
export function reviewSelf(object: KubeObject, user: UserInfo, now: number): KubeObject {
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { creationTimestamp: `${new Date(now).toISOString().slice(0, 19)}Z` },
    status: { userInfo: userInfo(user) },
  }
}

/** TokenReview: the user of a token. Throws 400 when there is none to look at. */
export async function reviewToken(object: KubeObject, context: TokenReviewContext): Promise<KubeObject> {
  const { token = '', audiences } = (object.spec ?? {}) as { token?: string; audiences?: readonly string[] | null }
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const wanted = audiences === undefined || audiences === null || audiences.length === 0 ? context.audiences : audiences
  const found = await findUser(token, wanted, context)
  const why = found === undefined ? await context.tokens?.refusal(token, wanted) : undefined
  const status: JsonObject =
    found === undefined
      ? { user: {}, error: why === undefined ? 'invalid bearer token' : `[invalid bearer token, ${why}]` }
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

/** The form that reviews and admission requests show a user in; what is empty is left out. */
export function userInfo({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username: name,
    ...(uid !== undefined && uid !== '' && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra !== undefined && { extra: extra as JsonObject }),
  }
}
