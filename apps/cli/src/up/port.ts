// Chooses the port of the API server.
import { createServer } from 'node:net'
import { CommandError } from '@fairlead/offline/command-error'

const first = 6443
const tried = 100

/** Returns the error of listening on a port; undefined when it is available. */
function obstacle(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(undefined)))
  })
}

/** Returns the wanted port when it is free; without one, 6443 or the next free one. */
export async function choosePort(wanted: number | undefined): Promise<number> {
  if (wanted === 0) return 0
  if (wanted !== undefined) {
    const reason = await obstacle(wanted)
    if (reason === undefined) return wanted
    throw new CommandError(
      reason === 'EACCES'
        ? `port ${wanted} needs more rights than you have: name one above 1023 with --port, or leave it out`
        : `port ${wanted} is taken: leave --port out to get the next free one, or stop what listens there`,
    )
  }
  for (let port = first; port < first + tried; port++) if ((await obstacle(port)) === undefined) return port
  throw new CommandError(`no port from ${first} to ${first + tried - 1} is free: name one with --port`)
}
