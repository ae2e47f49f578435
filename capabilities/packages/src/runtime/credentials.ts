// Credentials for git from Secrets: basic authentication, tokens and SSH keys, in the types of Kubernetes.
import { Secret } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isObjectNotFound } from '@fairlead/client'
import { GitError } from '../git/git-error.ts'
import type { GitCredentials } from '../git/remote.ts'

/** The key of a Secret under which git servers sign their webhooks. */
const webhookKey = 'webhook-secret'

interface SecretKey {
  readonly namespace: string
  readonly name: string
}

/** Credentials, and certificate authorities beside them. */
export interface SecretCredentials {
  readonly credentials: GitCredentials | undefined
  readonly caBundle: string | undefined
}

/**
 * Reads the credentials of a Secret. @throws GitError `AuthenticationFailed` for a missing Secret, or one without
 * credentials
 */
export async function readCredentials(client: Client, key: SecretKey, signal: AbortSignal): Promise<SecretCredentials> {
  const value = await valuesOf(client, key, signal)
  if (value === undefined)
    throw new GitError('AuthenticationFailed', `the Secret ${key.name} does not exist in namespace ${key.namespace}`)
  const caBundle = value('ca.crt') ?? value('caFile')
  const privateKey = value('ssh-privatekey')
  const token = value('bearerToken')
  const [username, password] = [value('username'), value('password')]
  if (privateKey !== undefined)
    return { credentials: { type: 'ssh', privateKey, knownHosts: value('known_hosts') }, caBundle }
  if (token !== undefined) return { credentials: { type: 'bearer', token: token.trim() }, caBundle }
  if (username !== undefined && password !== undefined)
    return { credentials: { type: 'basic', username, password: password.replace(/\n$/, '') }, caBundle }
  // A Secret may be there for an authority or for the webhook alone.
  if (caBundle !== undefined || value(webhookKey) !== undefined) return { credentials: undefined, caBundle }
  throw new GitError(
    'AuthenticationFailed',
    `the Secret ${key.name} has no credentials: it needs username and password, bearerToken, or ssh-privatekey`,
  )
}

/** Reads the secret with which git servers sign their webhooks; undefined when the Secret is missing or has none. */
export async function readWebhookSecret(
  client: Client,
  key: SecretKey,
  signal: AbortSignal,
): Promise<string | undefined> {
  const value = await valuesOf(client, key, signal)
  // What `kubectl create secret --from-file` reads often ends with a line end that the form of a git server has not.
  return value?.(webhookKey)?.replace(/\n$/, '')
}

/** Returns a function that decodes the values of a Secret; undefined when there is no such Secret. */
async function valuesOf(
  client: Client,
  key: SecretKey,
  signal: AbortSignal,
): Promise<((name: string) => string | undefined) | undefined> {
  const secret = await client.get(Secret, key, { signal }).catch((error: unknown) => {
    if (isObjectNotFound(error)) return undefined
    throw error
  })
  if (secret === undefined) return undefined
  const data = new Map(Object.entries(secret.data ?? {}))
  return (name) => {
    const encoded = data.get(name)
    return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString()
  }
}
