// Processes of the system's git. They see no configuration of the machine, its users or the repository's hooks, ask for
// no password, and end with the signal or the time limit of their caller.
import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '@fairlead/client'
import { GitError, gitFailure } from './git-error.ts'

/** Options of a git process. */
export interface GitOptions {
  readonly signal: AbortSignal
  /** Standard input, written completely. */
  readonly input?: string | Uint8Array | Iterable<Uint8Array>
  /** Environment variables beside the fixed ones, such as credentials. */
  readonly environment?: Readonly<Record<string, string>>
  /** Milliseconds until the process is killed. */
  readonly timeout?: number
  /** Receives what git writes to standard error. */
  onError?(chunk: Buffer): void
}

/** Milliseconds for operations on a local repository, and for those with a remote. */
export const timeouts = { local: 60_000, remote: 120_000 } as const

/** Configuration of every process: nothing in a repository makes git run a program. */
const settings: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.symlinks=false',
  'protocol.allow=never',
  'protocol.file.allow=always',
  'protocol.https.allow=always',
  'protocol.http.allow=always',
  'protocol.ssh.allow=always',
  'protocol.ext.allow=never',
  // What a redirect leads to is not checked, and would receive the credentials.
  'http.followRedirects=false',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'push.recurseSubmodules=no',
  'transfer.fsckObjects=true',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'gc.auto=0',
  'maintenance.auto=false',
  'credential.helper=',
  'safe.directory=*',
  'init.defaultBranch=main',
]

/** SSH without the configuration, keys and agents of the account that the server runs as. */
export const ssh = 'ssh -F /dev/null -oBatchMode=yes -oConnectTimeout=20 -oIdentitiesOnly=yes -oIdentityAgent=none'

const newline = Buffer.from('\n')

const environment: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/false',
  SSH_ASKPASS: '/bin/false',
  GIT_SSH_COMMAND: `${ssh} -oIdentityFile=/dev/null -oUserKnownHostsFile=/dev/null -oStrictHostKeyChecking=accept-new`,
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_PROTOCOL_FROM_USER: '0',
}

/**
 * Starts git in a folder. Each process leads a process group, so that its helpers end with it. The caller handles exit
 * and errors.
 */
export function startGit(
  folder: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): ChildProcessWithoutNullStreams {
  const configuration = settings.flatMap((setting) => ['-c', setting])
  return spawn('git', [...configuration, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...proxySettings(), ...environment, ...more },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/**
 * Runs git and returns its standard output.
 * @throws GitError, or the reason of the signal
 */
export async function runGit(folder: string, args: readonly string[], options: GitOptions): Promise<Buffer> {
  const { signal, input, timeout = timeouts.local } = options
  signal.throwIfAborted()
  const child = startGit(folder, args, options.environment)
  const command = args.find((word) => !word.startsWith('-')) ?? ''
  let ended: 'time' | 'signal' | undefined
  const stop = (why: 'time' | 'signal'): void => {
    ended ??= why
    killGroup(child)
  }
  const onAbort = (): void => stop('signal')
  signal.addEventListener('abort', onAbort, { once: true })
  using _timer = systemClock.timer(timeout, () => stop('time'))
  try {
    const output: Buffer[] = []
    const errors: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => {
      errors.push(chunk)
      options.onError?.(chunk)
    })
    const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    const written = write(child, input)
    const [code, killedBy] = await closed.catch((error: unknown) => Promise.reject(startError(error)))
    await written
    if (ended === 'signal') throw signal.reason as Error
    if (ended === 'time')
      throw new GitError('Timeout', `git ${command} did not finish within ${Math.round(timeout / 1000)} s`)
    // `push --porcelain` and `fsck` report on standard output.
    if (code !== 0) {
      const end = killedBy === null ? `ended with status ${code}` : `was ended by ${killedBy}`
      // Git dies without a word where it writes to a remote that reads no more.
      const hungUp = killedBy === 'SIGPIPE' ? [Buffer.from('the other end hung up unexpectedly\n')] : []
      throw gitFailure(command, Buffer.concat([...errors, ...hungUp, newline, ...output]).toString(), end)
    }
    return Buffer.concat(output)
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Kills a process and those that it started. */
export function killGroup(child: ChildProcessWithoutNullStreams): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/** Returns the error of a process that could not be started. */
export function startError(error: unknown): Error {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT')
    return new GitError('GitMissing', 'the program git was not found; install git 2.36 or newer', { cause: error })
  return new GitError('Failed', `git could not be started: ${(error as Error).message}`, { cause: error })
}

async function write(child: ChildProcessWithoutNullStreams, input: GitOptions['input']): Promise<void> {
  // A process that ends early breaks the pipe; its exit code says why.
  child.stdin.on('error', () => undefined)
  if (input !== undefined && (typeof input === 'string' || input instanceof Uint8Array)) child.stdin.write(input)
  else if (input !== undefined) {
    for (const chunk of input) {
      if (child.stdin.destroyed) return
      if (!child.stdin.write(chunk)) await Promise.race([once(child.stdin, 'drain'), once(child, 'close')])
    }
  }
  child.stdin.end()
}

/** Proxies and certificate authorities of the machine apply to git as to every other client. */
function proxySettings(): Record<string, string> {
  const names = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'SSL_CERT_FILE']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]!]] : [])))
}
