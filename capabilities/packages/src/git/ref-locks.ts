// Locks of refs that a machine left behind when it stopped in the middle of a write: nothing could change these refs
// any more, or be deleted while the lock is that of packed refs.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '@fairlead/client'

/** Milliseconds in which a process of git that outlived its server ends its write. */
const lastWrite = 5_000

/** Removes the locks in a repository that no other process of this server works with yet. */
export async function removeAbandonedLocks(folder: string, signal: AbortSignal): Promise<void> {
  const below = await readdir(join(folder, 'refs'), { recursive: true }).catch(() => [])
  const locks = [...below.map((path) => join('refs', path)), 'packed-refs.lock', 'HEAD.lock'].filter((path) =>
    path.endsWith('.lock'),
  )
  for (const path of locks.map((lock) => join(folder, lock))) {
    for (let age = await ageOf(path); age !== undefined && age < lastWrite; age = await ageOf(path))
      await systemClock.sleep(lastWrite - age, signal)
    await rm(path, { force: true })
  }
}

/** Returns the milliseconds since a file was written; undefined when it is missing. */
async function ageOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined)
  // A clock that was set back makes no file young for ever.
  return found && Math.abs(systemClock.now() - found.mtimeMs)
}
