// Tokens of service accounts: signed by the server, valid while the account (and the object they are bound to) exists.
import { createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { JWK, JWTPayload } from 'jose'
import { goQuote } from '@fairlead/kube'
import type { Clock, JsonObject, UserInfo } from '@fairlead/kube'
import type { Store } from '../storage/store.ts'
import { bearerToken } from './authenticators.ts'
import type { Authenticator } from '../identity/credentials.ts'
import { credentialIdKey, serviceAccountGroups, serviceAccountName } from '../identity/well-known-users.ts'

/** Options of {@link ServiceAccountTokens}. */
export interface TokenOptions {
  /** P-256 private key. */
  readonly key: KeyObject
  /** `iss` of every token. */
  readonly issuer: string
  /** Audiences of this server; the default audiences of a token. */
  readonly audiences: readonly string[]
  readonly clock: Pick<Clock, 'now'>
  readonly store: Pick<Store, 'get'>
  readonly newUid: () => string
}

/** An object that a token is bound to. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret' | 'Node'
  readonly name: string
  readonly uid: string
  /** Of a Pod: the node it runs on. */
  readonly node?: { readonly name: string; readonly uid?: string }
}

/** The subject, audiences and lifetime of a token to issue. */
export interface TokenGrant {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly audiences: readonly string[]
  readonly expirationSeconds: number
  readonly bound: BoundObject | undefined
}

/** A valid token. */
export interface VerifiedToken {
  readonly user: UserInfo
  /** The requested audiences that the token is valid for. */
  readonly audiences: readonly string[]
}

interface ObjectClaim {
  readonly name: string
  readonly uid: string
}

/** The `kubernetes.io` claim. */
interface KubernetesClaim {
  readonly namespace: string
  readonly serviceaccount: ObjectClaim
  readonly pod?: ObjectClaim
  readonly secret?: ObjectClaim
  readonly node?: { readonly name: string; readonly uid?: string }
}

/** Tolerated clock skew; go-jose's default. */
const leewaySeconds = 60
/** Size of the cache of verified signatures. */
const cachedSignatures = 1000
/** Longer tokens, which only many or long audiences make, are verified each time. Characters. */
const longestCached = 8 * 1024
const algorithm = 'ES256'
const extraPrefix = 'authentication.kubernetes.io/'

/** Issues and verifies tokens. */
export class ServiceAccountTokens {
  readonly #options: TokenOptions
  readonly #publicKey: KeyObject
  readonly #verified = new Map<string, JWTPayload>()
  #keyId: Promise<string> | undefined

  constructor(options: TokenOptions) {
    this.#options = options
    this.#publicKey = createPublicKey(options.key)
  }

  /** Audiences of this server. */
  get audiences(): readonly string[] {
    return this.#options.audiences
  }

  /** Returns a signed token. */
  async issue(grant: TokenGrant): Promise<string> {
    const { SignJWT } = await import('jose')
    const { key, issuer, clock, newUid } = this.#options
    const now = Math.floor(clock.now() / 1000)
    return new SignJWT({ 'kubernetes.io': claimOf(grant) })
      .setProtectedHeader({ alg: algorithm, kid: await this.#kid() })
      .setIssuer(issuer)
      .setSubject(serviceAccountName(grant.namespace, grant.name))
      .setAudience([...grant.audiences])
      .setIssuedAt(now)
      .setNotBefore(now)
      .setExpirationTime(now + grant.expirationSeconds)
      .setJti(newUid())
      .sign(key)
  }

  /**
   * Returns the user of a token for one of `audiences`; undefined when it is forged, expired, for other audiences, or
   * its account does not exist.
   */
  async verify(
    token: string,
    audiences: readonly string[] = this.#options.audiences,
  ): Promise<VerifiedToken | undefined> {
    const payload = await this.#payload(token)
    if (payload === undefined || !this.#isInTime(payload)) return undefined
    const issuedFor = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? [])
    const common = audiences.filter((audience) => issuedFor.includes(audience))
    if (common.length === 0) return undefined
    const claim = payload['kubernetes.io'] as KubernetesClaim | undefined
    if (claim === undefined || !(await this.#isAlive(claim))) return undefined
    return { user: userOf(claim, payload.jti), audiences: common }
  }

  /**
   * Returns the reason why {@link verify} rejects a token of this issuer, in the words of a TokenReview; undefined for
   * other tokens and valid ones.
   */
  async invalidReason(
    token: string,
    audiences: readonly string[] = this.#options.audiences,
  ): Promise<string | undefined> {
    const payload = await this.#payload(token)
    if (payload === undefined) return undefined
    if (!this.#isInTime(payload)) return 'service account token has expired'
    const issuedFor = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? [])
    if (!audiences.some((audience) => issuedFor.includes(audience)))
      return `token audiences ${quotedList(issuedFor)} is invalid for the target audiences ${quotedList(audiences)}`
    const claim = payload['kubernetes.io'] as KubernetesClaim | undefined
    if (claim === undefined || (await this.#isAlive(claim))) return undefined
    const { name } = claim.serviceaccount
    const account = await this.#options.store.get('serviceaccounts.', `${claim.namespace}/${name}`)
    return account === undefined
      ? `serviceaccounts ${goQuote(name)} not found`
      : 'service account token has been invalidated'
  }

  /** Returns the authenticator for bearer tokens of this issuer. */
  authenticator(): Authenticator {
    return {
      name: 'service-account-token',
      authenticate: async (credentials) => {
        const token = bearerToken(credentials)
        return token === undefined ? undefined : (await this.verify(token))?.user
      },
    }
  }

  /** Returns the document `/.well-known/openid-configuration`. */
  discoveryDocument(): JsonObject {
    const { issuer } = this.#options
    return {
      issuer,
      jwks_uri: `${issuer}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [algorithm],
    }
  }

  /** Returns the document `/openid/v1/jwks`. */
  async keySet(): Promise<JsonObject> {
    const { kty, crv, x, y } = this.#publicKey.export({ format: 'jwk' })
    return { keys: [{ use: 'sig', kty: kty!, kid: await this.#kid(), alg: algorithm, crv: crv!, x: x!, y: y! }] }
  }

  /** Number of tokens whose signature is not verified again. */
  get rememberedTokens(): number {
    return this.#verified.size
  }

  #kid(): Promise<string> {
    this.#keyId ??= import('jose').then(({ calculateJwkThumbprint }) =>
      calculateJwkThumbprint(this.#publicKey.export({ format: 'jwk' }) as JWK),
    )
    return this.#keyId
  }

  /** Returns the claims of a token with a valid signature, expired or not. */
  async #payload(token: string): Promise<JWTPayload | undefined> {
    const known = this.#verified.get(token)
    if (known !== undefined) return known
    const { compactVerify } = await import('jose')
    try {
      const { payload } = await compactVerify(token, this.#publicKey, { algorithms: [algorithm] })
      const claims = JSON.parse(new TextDecoder().decode(payload)) as JWTPayload
      if (claims.iss !== this.#options.issuer) return undefined
      if (token.length > longestCached) return claims
      if (this.#verified.size >= cachedSignatures) this.#verified.delete(this.#verified.keys().next().value!)
      this.#verified.set(token, claims)
      return claims
    } catch {
      // Not a token, of another issuer, or forged: all are rejected alike.
      return undefined
    }
  }

  #isInTime({ exp, nbf }: JWTPayload): boolean {
    const now = this.#options.clock.now() / 1000
    return exp !== undefined && now <= exp + leewaySeconds && (nbf === undefined || now >= nbf - leewaySeconds)
  }

  async #isAlive({ namespace, serviceaccount, pod, secret, node }: KubernetesClaim): Promise<boolean> {
    const bound: [string, string, ObjectClaim][] = [
      ['serviceaccounts.', `${namespace}/${serviceaccount.name}`, serviceaccount],
    ]
    if (pod !== undefined) bound.push(['pods.', `${namespace}/${pod.name}`, pod])
    if (secret !== undefined) bound.push(['secrets.', `${namespace}/${secret.name}`, secret])
    // A Pod's token only contains its node; a token that is bound to a node alone requires it to exist.
    if (node?.uid !== undefined && pod === undefined)
      bound.push(['nodes.', node.name, { name: node.name, uid: node.uid }])
    for (const [resource, key, claim] of bound) {
      const entry = await this.#options.store.get(resource, key)
      if (entry === undefined) return false
      const metadata = entry.object.metadata as { uid?: string; deletionTimestamp?: string }
      if (metadata.uid !== claim.uid || this.#isLongTerminating(metadata.deletionTimestamp)) return false
    }
    return true
  }

  /** Returns true when deletion began more than a minute ago: tokens of terminating objects stay valid until then. */
  #isLongTerminating(deletionTimestamp: string | undefined): boolean {
    return (
      deletionTimestamp !== undefined &&
      Date.parse(deletionTimestamp) + leewaySeconds * 1000 < this.#options.clock.now()
    )
  }
}

function claimOf({ namespace, name, uid, bound }: TokenGrant): KubernetesClaim {
  const claim = { namespace, serviceaccount: { name, uid } }
  if (bound === undefined) return claim
  const object = { name: bound.name, uid: bound.uid }
  switch (bound.kind) {
    case 'Pod':
      return { ...claim, pod: object, ...(bound.node !== undefined && { node: bound.node }) }
    case 'Secret':
      return { ...claim, secret: object }
    case 'Node':
      return { ...claim, node: object }
  }
}

function userOf({ namespace, serviceaccount, pod, node }: KubernetesClaim, id: string | undefined): UserInfo {
  const extra: Record<string, readonly string[]> = {}
  if (id !== undefined) extra[credentialIdKey] = [`JTI=${id}`]
  if (node !== undefined) {
    extra[`${extraPrefix}node-name`] = [node.name]
    if (node.uid !== undefined) extra[`${extraPrefix}node-uid`] = [node.uid]
  }
  if (pod !== undefined) {
    extra[`${extraPrefix}pod-name`] = [pod.name]
    extra[`${extraPrefix}pod-uid`] = [pod.uid]
  }
  return {
    name: serviceAccountName(namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    groups: serviceAccountGroups(namespace),
    extra,
  }
}

function quotedList(strings: readonly string[]): string {
  return `[${strings.map(goQuote).join(' ')}]`
}
