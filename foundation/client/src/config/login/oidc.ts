// Login by OpenID Connect as kubeconfig's auth-provider `oidc`: an id token, and a refresh token for the next one.
import * as https from 'node:https'
import { asJson, parseJson } from '@fairlead/kube'
import type { Clock, JsonObject } from '@fairlead/kube'
import { ClientError } from '../../client-error.ts'
import type { OidcTokens, TokenStore } from './token-store.ts'
import { FetchedLogin } from '../../login.ts'
import type { FetchedCredentials, Login } from '../../login.ts'

/** The configuration of `auth-provider: { name: oidc }`. */
export interface OidcProvider {
  /** URL of the issuer. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  readonly idToken?: string
  readonly refreshToken?: string
  /** Certificates to trust at the issuer (PEM); those of the system when left out. */
  readonly ca?: Buffer
  /** Shares tokens with other processes; they stay in this process when left out. */
  readonly store?: TokenStore
}

/** An id token is renewed when its remaining lifetime is shorter. Milliseconds. */
const least = 10_000
/** Time limit for a response of the provider. Milliseconds. */
const timeout = 30_000

/** `node:http` only where it is needed, as in the transport. */
const plainHttp = process.getBuiltinModule('node:http')

/**
 * Returns a login with the provider's id token, refreshed before it expires. Tokens that another process stored
 * meanwhile are used, as rotating refresh tokens are valid only once; new tokens are written to the store.
 */
export function oidcLogin(provider: OidcProvider, clock: Clock): Login {
  const { store } = provider
  let known: OidcTokens = { idToken: provider.idToken, refreshToken: provider.refreshToken }
  /**
   * The tokens of the store when it was last read: only other tokens are new, as ours may be newer where the store
   * cannot be written.
   */
  let kept = known
  /** The id token has expired or was refused. */
  let shown: string | undefined
  let endpoint: Promise<TokenEndpoint> | undefined
  const show = (token: string): FetchedCredentials => {
    shown = token
    return { credentials: { token }, usableFor: expiryOf(token) - clock.now() - least }
  }
  const isFresh = (token: string | undefined): token is string =>
    token !== undefined && token !== shown && expiryOf(token) - clock.now() - least > 0
  const isNews = async (): Promise<boolean> => {
    const now = await store?.read()
    if (now === undefined || (now.idToken === kept.idToken && now.refreshToken === kept.refreshToken)) return false
    known = kept = now
    return true
  }
  const refreshed = async (): Promise<JsonObject> => {
    if (known.refreshToken === undefined)
      throw failed(provider, 'the id token has run out and there is no refresh token; log in again')
    endpoint ??= tokenEndpoint(provider).catch((error: unknown) => {
      endpoint = undefined
      throw error
    })
    return refresh(provider, await endpoint, known.refreshToken)
  }
  return new FetchedLogin(async (): Promise<FetchedCredentials> => {
    if (isFresh(known.idToken)) return show(known.idToken)
    if ((await isNews()) && isFresh(known.idToken)) return show(known.idToken)
    const response = await refreshed().catch(async (error: unknown) => {
      // Another process may have used the refresh token at the same time.
      if (!(await isNews())) throw error
      return isFresh(known.idToken) ? undefined : refreshed()
    })
    if (response === undefined) return show(known.idToken!)
    if (typeof response.id_token !== 'string') throw failed(provider, 'its response holds no id_token')
    const rotated = typeof response.refresh_token === 'string' ? response.refresh_token : known.refreshToken!
    const tokens = { idToken: response.id_token, refreshToken: rotated }
    known = tokens
    if (await store?.write(tokens, clock)) kept = tokens
    return show(response.id_token)
  }, clock)
}

interface TokenEndpoint {
  readonly url: string
  /** The client secret goes into the body, not into an Authorization header. */
  readonly secretInBody: boolean
}

async function tokenEndpoint(provider: OidcProvider): Promise<TokenEndpoint> {
  const url = `${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { token_endpoint: endpoint, token_endpoint_auth_methods_supported: methods } = await ask(provider, url)
  if (typeof endpoint !== 'string') throw failed(provider, `${url} names no token_endpoint`)
  return { url: endpoint, secretInBody: Array.isArray(methods) && !methods.includes('client_secret_basic') }
}

function refresh(
  provider: OidcProvider,
  { url, secretInBody }: TokenEndpoint,
  refreshToken: string,
): Promise<JsonObject> {
  const { clientId, clientSecret } = provider
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken })
  if (clientSecret === undefined || secretInBody) {
    form.set('client_id', clientId)
    if (clientSecret !== undefined) form.set('client_secret', clientSecret)
    return ask(provider, url, form)
  }
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64')
  return ask(provider, url, form, `Basic ${basic}`)
}

/** GETs JSON, or POSTs a form for it. */
async function ask(
  provider: OidcProvider,
  url: string,
  form?: URLSearchParams,
  authorization?: string,
): Promise<JsonObject> {
  const { code, text } = await send(provider, url, form, authorization)
  let body: JsonObject
  try {
    body = asJson(parseJson(text) as object)
  } catch (cause) {
    throw failed(provider, `${url} answered ${code} without JSON`, cause)
  }
  if (code === 200) return body
  throw failed(provider, `${url} answered ${code}: ${String(body.error_description ?? body.error ?? 'no reason')}`)
}

function send(
  provider: OidcProvider,
  url: string,
  form: URLSearchParams | undefined,
  authorization: string | undefined,
): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(failed(provider, `${url}: ${error.message}`, error))
    const sent = (url.startsWith('http:') ? plainHttp : https).request(
      url,
      {
        method: form === undefined ? 'GET' : 'POST',
        ca: provider.ca,
        // client-go trusts every certificate of a bundle, self-signed or not.
        allowPartialTrustChain: true,
        timeout,
        headers: {
          accept: 'application/json',
          ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...(authorization && { authorization }),
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => (text += part))
        response.on('end', () => resolve({ code: response.statusCode ?? 0, text }))
        response.on('error', fail)
      },
    )
    sent.on('timeout', () => sent.destroy(new Error('no response in time')))
    sent.on('error', fail)
    sent.end(form?.toString())
  })
}

/**
 * Returns the expiry of a JWT, milliseconds since the epoch; -Infinity for other strings. The server checks signatures.
 */
function expiryOf(token: string): number {
  try {
    const { exp } = asJson(parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url')) as object)
    return typeof exp === 'number' ? exp * 1000 : -Infinity
  } catch {
    return -Infinity
  }
}

function failed({ issuer }: OidcProvider, why: string, cause?: unknown): ClientError {
  return new ClientError('CredentialsFailed', `The identity provider ${issuer} gave no token: ${why}`, { cause })
}
