// Which port the API server takes when none was asked for.
import { createServer } from 'node:net'
import { CliError } from '../error.ts'

const first = 6443
const tried = 100

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

/** The port that was asked for, when it is free; else 6443 or the next free one after it. */
export async function choosePort(wanted: number | undefined): Promise<number> {
  if (wanted === 0) return 0
  if (wanted !== undefined) {
    if (await isFree(wanted)) return wanted
    throw new CliError(`port ${wanted} is taken: leave --port out to get the next free one, or stop what listens there`)
  }
  for (let port = first; port < first + tried; port++) if (await isFree(port)) return port
  throw new CliError(`no port from ${first} to ${first + tried - 1} is free: name one with --port`)
}
