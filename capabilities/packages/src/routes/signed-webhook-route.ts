// The webhook of git servers beside a real cluster, where no API server authenticates them: they sign with the secret
// that the Secret of the Repository holds.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { SignedRequest, SignedRoute } from '@fairlead/controller'
import { serviceUnavailable, unauthorized } from '@fairlead/kube'
import type { ObjectKey } from '@fairlead/kube'
import type { Repository } from '../api.ts'

/** Dependencies of the route. */
export interface SignedWebhookHost {
  /** Reports whether this process reads repositories: only the leader does. */
  leads(): boolean
  /** Returns the Repository as the cache knows it; undefined when there is none. @throws StatusError 503 */
  repository(key: ObjectKey): Repository | undefined
  /** Reads the webhook secret of a Secret; undefined when it has none. */
  webhookSecret(key: { readonly namespace: string; readonly name: string }): Promise<string | undefined>
  /** Starts to read a repository. */
  sync(key: { readonly namespace: string; readonly name: string }): void
}

/** Returns the route `POST /webhooks/git/<namespace>/<repository>`. */
export function signedWebhookRoute(host: SignedWebhookHost): SignedRoute {
  /** Reads of Secrets in progress: callers without a signature cost one at a time for each repository. */
  const reading = new Map<string, Promise<string | undefined>>()
  const secretOf = (key: { readonly namespace: string; readonly name: string }): Promise<string | undefined> => {
    const id = `${key.namespace}/${key.name}`
    let read = reading.get(id)
    if (read === undefined) {
      read = host.webhookSecret(key).finally(() => reading.delete(id))
      reading.set(id, read)
    }
    return read
  }
  return {
    prefix: '/webhooks/git',
    async handle(request) {
      const { method, path } = request
      const [namespace, name, ...rest] = path
      if (method !== 'POST' || namespace === undefined || name === undefined || rest.length > 0) return undefined
      if (!host.leads()) throw serviceUnavailable('another process reads the repositories; deliver the event again')
      const repository = host.repository({ namespace, name })
      const secretName = repository?.spec?.git?.secretRef?.name
      const secret = secretName ? await secretOf({ namespace, name: secretName }) : undefined
      // One response to all, so that none says which repositories there are.
      if (!isSigned(request, secret))
        throw unauthorized('the request is not signed with the webhook-secret of the Secret of this repository')
      host.sync({ namespace, name })
      return { status: 202, body: { message: `The repository ${namespace}/${name} is read` } }
    },
  }
}

/** Headers with the bare digest: those of Gogs, and of Gitea and Forgejo beside `X-Hub-Signature-256`. */
const bareDigests = ['x-gogs-signature', 'x-gitea-signature', 'x-forgejo-signature']

/** Prefix of the keys of Standard Webhooks, in base64. */
const keyPrefix = 'whsec_'

/**
 * Reports whether a request is signed with a secret, in one of the ways of git servers: `X-Hub-Signature-256` of
 * GitHub, Gitea and Forgejo, `X-Hub-Signature` of Bitbucket or `X-Gogs-Signature` (HMAC-SHA-256 of the body),
 * `X-Gitlab-Token` (the secret itself) or `webhook-signature` of GitLab (Standard Webhooks). Where there are several,
 * the first counts. Nothing is signed without a secret. A request that is sent again is accepted: it does no more than
 * read the repository.
 */
export function isSigned({ headers, body }: SignedRequest, secret: string | undefined): boolean {
  if (secret === undefined || secret === '') return false
  const header = (name: string): string | undefined => {
    const value = headers[name]
    return typeof value === 'object' ? value[0] : value
  }
  const token = header('x-gitlab-token')
  if (token !== undefined) return isSame(token, secret)
  const standard = header('webhook-signature')
  if (standard !== undefined)
    return isStandardSignature(standard, [header('webhook-id') ?? '', header('webhook-timestamp') ?? ''], body, secret)
  const digest = createHmac('sha256', secret).update(body).digest('hex')
  const prefixed = header('x-hub-signature-256') ?? header('x-hub-signature')
  if (prefixed !== undefined) return isSame(prefixed, `sha256=${digest}`)
  const bare = bareDigests.map(header).find((value) => value !== undefined)
  return bare !== undefined && isSame(bare, digest)
}

/**
 * Reports whether one of the signatures in `webhook-signature`, which spaces separate, is right: `v1,` and the HMAC of
 * identifier, time and body in base64, with the key that the secret holds in base64.
 */
function isStandardSignature(
  signatures: string,
  signedHeaders: readonly string[],
  body: Uint8Array,
  secret: string,
): boolean {
  if (!secret.startsWith(keyPrefix)) return false
  const key = Buffer.from(secret.slice(keyPrefix.length), 'base64')
  if (key.length === 0) return false
  const signed = createHmac('sha256', key)
    .update(`${signedHeaders.join('.')}.`)
    .update(body)
    .digest('base64')
  return signatures.split(' ').some((signature) => isSame(signature, `v1,${signed}`))
}

/** Compares in a time that says nothing about where two strings differ, or how long they are. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
