// Which port the API server takes when none was asked for.
import { createServer } from 'node:net'
import { CommandError } from '@fairlead/offline/command-error'

const first = 6443
const tried = 100

/** Why a port cannot be had; undefined when it can. */
function obstacle(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(undefined)))
  })
}

/** The port that was asked for, when it is free; else 6443 or the next free one after it. */
export async function choosePort(wanted: number | undefined): Promise<number> {
  if (wanted === 0) return 0
  if (wanted !== undefined) {
    const reason = await obstacle(wanted)
    if (reason === undefined) return wanted
    throw new CommandError(
      reason === 'EACCES'
        ? `port ${wanted} is not for you to take: name one above 1023 with --port, or leave it out`
        : `port ${wanted} is taken: leave --port out to get the next free one, or stop what listens there`,
    )
  }
  for (let port = first; port < first + tried; port++) if ((await obstacle(port)) === undefined) return port
  throw new CommandError(`no port from ${first} to ${first + tried - 1} is free: name one with --port`)
}
