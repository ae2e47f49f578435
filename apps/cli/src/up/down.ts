// `fairlead down`: stops the server of a data folder, however it was started.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '@fairlead/client'
import { AsyncDisposableStack } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { respondingServer } from '../data/running-server.ts'
import { isAlive, readProcessFile } from '../data/process-file.ts'

/** Time that a server has to stop, and the interval of looking. Milliseconds. */
const patience = 60_000
const interval = 50

/**
 * Stops the server and waits until its process ended. A folder without a running server is no error. Throws
 * CommandError.
 */
export async function down(options: Readonly<Record<string, unknown>>): Promise<void> {
  const folder = resolve(String(options['data']))
  if (!existsSync(folder)) throw new CommandError(`there is no folder ${folder}: name another one with --data`)
  const server = readProcessFile(folder)
  if (server === undefined || !isAlive(server.pid)) {
    process.stdout.write(`No server runs in ${folder}.\n`)
    return
  }
  const { pid, url } = server
  // The number may belong to another process by now: only a server with the certificate of this folder is stopped.
  await using resources = new AsyncDisposableStack()
  if ((await respondingServer(join(folder, 'kubeconfig'), resources)) === undefined)
    throw new CommandError(
      `the server of ${folder} does not respond at ${url}. If process ${pid} is it, stop it with \`kill ${pid}\`.`,
    )
  process.kill(pid, 'SIGTERM')
  const until = systemClock.monotonic() + patience
  while (isAlive(pid)) {
    if (systemClock.monotonic() > until)
      throw new CommandError(`process ${pid} did not stop within ${patience / 1000} s`)
    await systemClock.sleep(interval)
  }
  process.stdout.write(`Stopped the server of ${folder} (process ${pid}).\n`)
}
