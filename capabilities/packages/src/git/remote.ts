// The other side of a repository: its address and the credentials for it. They reach git by its environment and a
// private file, never by arguments, which other users of the machine could read.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AsyncDisposableStack } from '@fairlead/kube'
import { GitError } from './git-error.ts'
import { ssh } from './git-process.ts'
import { checkHost, checkResolvedHost } from './remote-host.ts'

/** Credentials for a remote. */
export type GitCredentials =
  | { readonly type: 'basic'; readonly username: string; readonly password: string }
  | { readonly type: 'bearer'; readonly token: string }
  | { readonly type: 'ssh'; readonly privateKey: string; readonly knownHosts?: string | undefined }

/** A remote repository. */
export interface GitRemote {
  /** `https://…`, `http://…`, `ssh://…`, `user@host:path`, `file://…` or an absolute path. */
  readonly url: string
  readonly credentials?: GitCredentials | undefined
  /** PEM certificates of authorities to trust beside those of the system. */
  readonly caBundle?: string | undefined
  /** Milliseconds until a process of git is killed; {@link timeouts.remote} when left out. */
  readonly timeout?: number | undefined
}

/** The kinds of transport, by where they read: `local` reads files of this machine. */
export type GitTransport = 'http' | 'ssh' | 'local'

/**
 * Returns the transport of an address. @throws GitError `UnsupportedAddress`
 */
export function transportOf(url: string): GitTransport {
  checkHost(url)
  if (/^https?:\/\/[^/]/i.test(url)) return 'http'
  if (/^ssh:\/\/[^/-]/i.test(url)) return 'ssh'
  if (/^file:\/\/\//i.test(url) || url.startsWith('/')) return 'local'
  if (/^[a-z0-9_.][a-z0-9_.-]*@[a-z0-9][a-z0-9.-]*:[^-]/i.test(url) && !url.includes('://')) return 'ssh'
  throw new GitError(
    'UnsupportedAddress',
    `the address ${JSON.stringify(url)} is not supported: write https://, http://, ssh://, file:// or an absolute path`,
  )
}

/** The environment of git processes for a remote. Disposing it deletes the files. */
export interface RemoteEnvironment extends AsyncDisposable {
  readonly variables: Readonly<Record<string, string>>
}

/** Prepares the environment for a remote. @throws GitError `UnsupportedAddress` */
export async function remoteEnvironment(remote: GitRemote): Promise<RemoteEnvironment> {
  const { url, credentials, caBundle } = remote
  const transport = transportOf(url)
  if (transport !== 'local') await checkResolvedHost(url)
  if (/^[a-z+]+:\/\/[^/]*:[^/]*@/i.test(url))
    throw new GitError(
      'UnsupportedAddress',
      'the address has a password; put it into a Secret and name it in secretRef',
    )
  const stack = new AsyncDisposableStack()
  const variables: Record<string, string> = {}
  const settings: [string, string][] = []
  const file = async (content: string): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-git-'))
    stack.defer(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'file')
    await writeFile(path, content.endsWith('\n') ? content : `${content}\n`, { mode: 0o600 })
    return path
  }
  if (transport === 'http' && credentials !== undefined && credentials.type !== 'ssh') {
    const value =
      credentials.type === 'bearer'
        ? `Bearer ${credentials.token}`
        : `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`
    settings.push(['http.extraHeader', `Authorization: ${value}`])
  }
  if (transport === 'http' && caBundle !== undefined) settings.push(['http.sslCAInfo', await file(caBundle)])
  if (transport === 'ssh' && credentials?.type === 'ssh') {
    const key = await file(credentials.privateKey)
    const hosts = credentials.knownHosts === undefined ? undefined : await file(credentials.knownHosts)
    const known =
      hosts === undefined
        ? '-oUserKnownHostsFile=/dev/null -oStrictHostKeyChecking=accept-new'
        : `-oUserKnownHostsFile='${hosts}' -oStrictHostKeyChecking=yes`
    variables['GIT_SSH_COMMAND'] = `${ssh} -i '${key}' ${known}`
  }
  variables['GIT_CONFIG_COUNT'] = String(settings.length)
  for (const [index, [key, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key
    variables[`GIT_CONFIG_VALUE_${index}`] = value
  }
  return { variables, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
