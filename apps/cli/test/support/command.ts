// The command as a user runs it: the launcher in a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launcher } from '../../../../test/support/launcher.ts'

/** How a command ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** How to run it. */
export interface RunOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** The launcher, if not that of most tests. */
  readonly launcher?: string
}

/** Runs a command to its end. No kubeconfig but what the arguments name. */
export async function fairlead(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = spawn(process.execPath, [options.launcher ?? launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: options.cwd,
    env: { ...process.env, KUBECONFIG: '/dev/null', NO_COLOR: '1', ...options.env },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

/** Runs a test with a folder that is gone afterwards. */
export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-cli-'))
  try {
    await test(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
