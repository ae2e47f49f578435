// `fairlead up --detach`: starts the server as a process of its own and waits until it is ready.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '@fairlead/offline/command-error'
import { openDataFolder, refuseFolderInUse } from '../data/data-folder.ts'

/** Set for the process that runs the server. */
const marker = 'FAIRLEAD_DETACHED'

/** The message of a server that is ready. */
interface ReadyMessage {
  /** The text to print. */
  readonly ready: string
}

/** Reports whether this process was started by {@link startDetached}. */
export const isDetached: boolean = process.env[marker] === '1'

/** Sends the text of a ready server to the process that started it, if one waits for it. */
export function sendReady(ready: string): void {
  if (isDetached) process.send?.({ ready } satisfies ReadyMessage, () => process.disconnect())
}

/**
 * Starts `fairlead` with the arguments and resolves once its server is ready. Its output goes to `up.log` in the data
 * folder. Throws CommandError with that output when the server does not start.
 */
export async function startDetached(folder: string, args: readonly string[]): Promise<void> {
  const data = openDataFolder(folder)
  refuseFolderInUse(data)
  const log = join(data.path, 'up.log')
  rmSync(log, { force: true })
  const output = openSync(log, 'wx', 0o600)
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...args], {
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
    env: { ...process.env, [marker]: '1' },
  })
  closeSync(output)
  const stop = (): void => {
    child.kill('SIGTERM')
    process.exit(130)
  }
  process.once('SIGINT', stop)
  process.stdout.write(await readyText(child, log))
  process.off('SIGINT', stop)
  child.unref()
}

function readyText(child: ChildProcess, log: string): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('message', ({ ready }: ReadyMessage) => resolve(ready))
    child.once('error', (error) => reject(new CommandError(`the server cannot be started: ${error.message}`)))
    child.once('exit', (code) => {
      const said = readFileSync(log, 'utf8')
        .trim()
        .replace(/^fairlead: /, '')
      reject(new CommandError(said === '' ? 'the server ended before it was ready' : said, code ?? undefined))
    })
  })
}
