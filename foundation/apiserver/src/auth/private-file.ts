// Files that hold secrets: readable by their owner only, written all or not at all.
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
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

/** Writes a file of mode 0600, in a folder that is made with 0700 when it is missing. */
export async function writePrivate(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.new`
  await writeFile(temporary, text, { mode: 0o600 })
  await chmod(temporary, 0o600)
  await rename(temporary, path)
}

/** What a file holds; it is made when it is missing. */
export async function keptFile(path: string, make: () => string | Promise<string>): Promise<string> {
  const kept = await readText(path)
  if (kept !== undefined) return kept
  const made = await make()
  await writePrivate(path, made)
  return made
}
