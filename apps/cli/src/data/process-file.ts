// The process of a running server, in its data folder: `fairlead down` stops it.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The process of a server. */
export interface ServerProcess {
  readonly pid: number
  readonly url: string
  /** RFC 3339. */
  readonly startedAt: string
}

const name = 'process.json'

/** Writes the file; disposing the result removes it. */
export function writeProcessFile(folder: string, server: ServerProcess): Disposable {
  const file = join(folder, name)
  // A link in its place is replaced, not followed.
  rmSync(file, { force: true })
  writeFileSync(file, `${JSON.stringify(server)}\n`, { mode: 0o600, flag: 'wx' })
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) }
}

/** Reads the file; undefined when there is none. */
export function readProcessFile(folder: string): ServerProcess | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, name), 'utf8')) as ServerProcess
  } catch {
    return undefined
  }
}

/** Reports whether a process of this number exists. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
