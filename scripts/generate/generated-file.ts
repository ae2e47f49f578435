// A file in a fenced `generated/` folder, and how it gets there.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Text of one generated file; `name` is relative to its folder. */
export interface GeneratedFile {
  readonly name: string
  readonly text: string
}

/**
 * Writes the files whose text differs from what stands on disk, so that a second run touches nothing.
 * Returns the absolute paths that were written.
 */
export function writeGenerated(folder: string, files: readonly GeneratedFile[]): string[] {
  mkdirSync(folder, { recursive: true })
  const changed = files.filter((file) => {
    const path = join(folder, file.name)
    return !existsSync(path) || readFileSync(path, 'utf8') !== file.text
  })
  for (const file of changed) writeFileSync(join(folder, file.name), file.text)
  return changed.map((file) => join(folder, file.name))
}
