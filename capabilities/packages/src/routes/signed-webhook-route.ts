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

/**
 * Reports whether a request is signed with a secret, in one of the ways of git servers: `X-Hub-Signature-256` of
 * GitHub, Gitea and Forgejo or `X-Hub-Signature` of Bitbucket (HMAC-SHA-256 of the body), `X-Gitlab-Token` of GitLab
 * (the secret itself). Nothing is signed without a secret.
 */
export function isSigned({ headers, body }: SignedRequest, secret: string | undefined): boolean {
  if (secret === undefined || secret === '') return false
  const token = headers['x-gitlab-token']
  if (typeof token === 'string') return isSame(token, secret)
  const signature = headers['x-hub-signature-256'] ?? headers['x-hub-signature']
  if (typeof signature !== 'string') return false
  return isSame(signature, `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
}

/** Compares in a time that says nothing about where two strings differ, or how long they are. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
