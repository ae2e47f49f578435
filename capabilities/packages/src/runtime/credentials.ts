// Credentials for git from Secrets: basic authentication, tokens and SSH keys, in the types of Kubernetes.
import { Secret } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isObjectNotFound } from '@fairlead/client'
import { GitError } from '../git/git-error.ts'
import type { GitCredentials } from '../git/remote.ts'

/** Credentials, and certificate authorities beside them. */
export interface SecretCredentials {
  readonly credentials: GitCredentials | undefined
  readonly caBundle: string | undefined
}

/**
 * Reads the credentials of a Secret. @throws GitError `AuthenticationFailed` for a missing Secret, or one without
 * credentials
 */
export async function readCredentials(
  client: Client,
  key: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<SecretCredentials> {
  const secret = await client.get(Secret, key, { signal }).catch((error: unknown) => {
    if (isObjectNotFound(error)) return undefined
    throw error
  })
  if (secret === undefined)
    throw new GitError('AuthenticationFailed', `the Secret ${key.name} does not exist in namespace ${key.namespace}`)
  const data = new Map(Object.entries(secret.data ?? {}))
  const value = (name: string): string | undefined => {
    const encoded = data.get(name)
    return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString()
  }
  const caBundle = value('ca.crt') ?? value('caFile')
  const privateKey = value('ssh-privatekey')
  const token = value('bearerToken')
  const [username, password] = [value('username'), value('password')]
  if (privateKey !== undefined)
    return { credentials: { type: 'ssh', privateKey, knownHosts: value('known_hosts') }, caBundle }
  if (token !== undefined) return { credentials: { type: 'bearer', token: token.trim() }, caBundle }
  if (username !== undefined && password !== undefined)
    return { credentials: { type: 'basic', username, password: password.replace(/\n$/, '') }, caBundle }
  if (caBundle !== undefined) return { credentials: undefined, caBundle }
  throw new GitError(
    'AuthenticationFailed',
    `the Secret ${key.name} has no credentials: it needs username and password, bearerToken, or ssh-privatekey`,
  )
}
