// A file in a fenced `generated/` folder or in `docs/reference`, and how it gets there.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Text of one generated file; `name` is relative to its folder. */
export interface GeneratedFile {
  readonly name: string
  readonly text: string
}

/** Absolute paths of the files whose contents differ from those on disk. */
export function outdated(folder: string, files: readonly GeneratedFile[]): string[] {
  return files
    .map(({ name, text }) => ({ path: join(folder, name), text }))
    .filter(({ path, text }) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
    .map(({ path }) => path)
}

/** Writes the files that are {@link outdated}, so that a second run touches nothing, and answers their paths. */
export function writeGenerated(folder: string, files: readonly GeneratedFile[]): string[] {
  const changed = new Set(outdated(folder, files))
  for (const { name, text } of files) {
    const path = join(folder, name)
    if (!changed.has(path)) continue
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  return [...changed]
}
