// Files that hold secrets: readable by their owner only, written all or not at all.
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The text of a file; undefined when there is none. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Writes a file of mode 0600, in a folder that is made with 0700 when it is missing. All at once: what a start writes are a few hundred bytes into
 * the system's cache, and a turn of the event loop for each step takes many times as long.
 */
export function writePrivate(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.new`
  writeFileSync(temporary, text, { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, path)
}

/** What a file holds; it is made when it is missing. */
export async function keptFile(path: string, make: () => string | Promise<string>): Promise<string> {
  const kept = await readText(path)
  if (kept !== undefined) return kept
  const made = await make()
  writePrivate(path, made)
  return made
}
