// Tokens of service accounts: signed by the server, valid while the account (and the object they are bound to) exists.
import { createHash, createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { goQuote } from '@fairlead/kube'
import type { Clock, JsonObject, UserInfo } from '@fairlead/kube'
import type { Store } from '../storage/store.ts'
import { bearerToken } from './authenticators.ts'
import type { Authenticator } from '../identity/credentials.ts'
import { credentialIdKey, serviceAccountGroups, serviceAccountName } from '../identity/well-known-users.ts'

/** Options of {@link ServiceAccountTokens}. */
export interface TokenOptions {
  /** Private key: RSA, or EC on P-256, P-384 or P-521. */
  readonly key: KeyObject
  /** Public keys of valid tokens, of the same types; that of `key` when left out. */
  readonly verificationKeys?: readonly KeyObject[] | undefined
  /** `iss` of every token. */
  readonly issuer: string
  /** Values of `iss` that are accepted beside it. */
  readonly formerIssuers?: readonly string[]
  /** The address of the key set in the issuer's configuration; below the issuer when left out. */
  readonly keySetUri?: string | undefined
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
const extraPrefix = 'authentication.kubernetes.io/'

/** Issues and verifies tokens. */
export class ServiceAccountTokens {
  readonly #options: TokenOptions
  readonly #keys: readonly VerificationKey[]
  readonly #signing: VerificationKey
  readonly #verified = new Map<string, JWTPayload>()

  constructor(options: TokenOptions) {
    this.#options = options
    const own = createPublicKey(options.key)
    this.#signing = verificationKey(own)
    this.#keys = (options.verificationKeys ?? [own]).map(verificationKey)
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
      .setProtectedHeader({ alg: this.#signing.algorithm, kid: this.#signing.id })
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
    const { issuer, keySetUri = `${issuer.replace(/\/$/, '')}/openid/v1/jwks` } = this.#options
    return {
      issuer,
      jwks_uri: keySetUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(this.#keys.map(({ algorithm }) => algorithm))],
    }
  }

  /** Returns the document `/openid/v1/jwks`. */
  keySet(): JsonObject {
    return {
      keys: this.#keys.map(({ key, id, algorithm }) => {
        const { kty, ...rest } = key.export({ format: 'jwk' }) as Readonly<Record<string, string>>
        return { use: 'sig', kty: kty!, kid: id, alg: algorithm, ...rest }
      }),
    }
  }

  /** Number of tokens whose signature is not verified again. */
  get rememberedTokens(): number {
    return this.#verified.size
  }

  /** Returns the claims of a token with a valid signature, expired or not. */
  async #payload(token: string): Promise<JWTPayload | undefined> {
    const known = this.#verified.get(token)
    if (known !== undefined) return known
    const { compactVerify, decodeProtectedHeader } = await import('jose')
    try {
      const { alg, kid } = decodeProtectedHeader(token)
      const usable = this.#keys.filter(({ algorithm }) => algorithm === alg)
      const { key } = usable.find(({ id }) => id === kid) ?? usable[0] ?? {}
      if (key === undefined) return undefined
      const { payload } = await compactVerify(token, key, { algorithms: [alg!] })
      const claims = JSON.parse(new TextDecoder().decode(payload)) as JWTPayload
      const { issuer, formerIssuers = [] } = this.#options
      if (claims.iss !== issuer && !formerIssuers.includes(claims.iss ?? '')) return undefined
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

interface VerificationKey {
  readonly key: KeyObject
  /** `kid` of tokens, derived as kube-apiserver does. */
  readonly id: string
  readonly algorithm: string
}

const curveAlgorithms: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** Returns the algorithm of tokens that a key signs; undefined for types of keys that Kubernetes does not take. */
export function tokenAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  if (asymmetricKeyType === 'rsa') return 'RS256'
  return asymmetricKeyType === 'ec' ? curveAlgorithms[asymmetricKeyDetails?.namedCurve ?? ''] : undefined
}

function verificationKey(key: KeyObject): VerificationKey {
  const algorithm = tokenAlgorithm(key)
  if (algorithm === undefined)
    throw new TypeError(`tokens cannot be signed with a key of type ${key.asymmetricKeyType}`)
  const id = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
  return { key, id, algorithm }
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
