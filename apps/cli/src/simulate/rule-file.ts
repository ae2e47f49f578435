// Paths of files with rules for the simulator.
import { statSync } from 'node:fs'
import { usageError } from '@fairlead/offline/command-error'

/** Returns the path of a file with rules. Throws a usage error, which begins with `where`, for other paths. */
export function ruleFile(path: string, where: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw usageError(`${where} ${path}: there is no such file`)
  if (found.isDirectory()) throw usageError(`${where} ${path} is a folder: name a file with rules`)
  return path
}
