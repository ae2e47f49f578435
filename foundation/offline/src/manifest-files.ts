// Finds the files that a path names.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { exitCode } from './command-error.ts'
import { ManifestError } from './manifest-error.ts'

const extension = /\.(?:ya?ml|json)$/

/**
 * Returns the manifest files of a path, in name order: the file itself, or the .yaml, .yml and .json files of a folder
 * and of the folders below it. Folders named node_modules or with a leading dot are left out.
 * @throws ManifestError when the path does not exist or cannot be read
 */
export function manifestFiles(path: string): readonly string[] {
  try {
    return statSync(path).isDirectory()
      ? filesBelow(path, '')
          .toSorted()
          .map((name) => join(path, name))
      : [path]
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Returns the error for a path that cannot be read: says what to do when it does not exist. */
export function unreadable(path: string, error: unknown): ManifestError {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== 'ENOENT') return new ManifestError(path, 0, `cannot be read: ${message}`, { cause: error })
  const problem = 'there is no such file or folder; check the path, or write - for standard input'
  return new ManifestError(path, 0, problem, { cause: error, exitCode: exitCode.usage })
}

/** Names relative to `root`. */
function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = join(folder, entry.name)
    if (entry.isDirectory())
      return entry.name.startsWith('.') || entry.name === 'node_modules' ? [] : filesBelow(root, name)
    return extension.test(entry.name) ? [name] : []
  })
}
