// Files with secrets: readable by their owner only, written atomically.
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Returns the contents of a file; undefined when it does not exist. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Writes a file of mode 0600 atomically, and creates its folder with mode 0700. Synchronous: at start it writes a few
 * hundred bytes into the page cache, and an iteration of the event loop for each step would take many times as long.
 */
export function writePrivate(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.new`
  writeFileSync(temporary, text, { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, path)
}

/** Returns the contents of a file; creates it with `make` when it does not exist. */
export async function readOrCreate(path: string, make: () => string | Promise<string>): Promise<string> {
  const stored = await readText(path)
  if (stored !== undefined) return stored
  const created = await make()
  writePrivate(path, created)
  return created
}
