// Reads the rules of the simulator.
import { readFileSync } from 'node:fs'
import { usageError } from '@fairlead/offline/command-error'
import { RulesError, parseRules } from '@fairlead/simulator'
import type { Rule } from '@fairlead/simulator'

/** Returns the rules of files, in order. Throws a usage error that names file and line of a mistake. */
export function readRules(files: readonly string[]): readonly Rule[] {
  try {
    return files.flatMap((file) => [...parseRules(readFileSync(file, 'utf8'), file)])
  } catch (error) {
    if (error instanceof RulesError) throw usageError(error.message)
    throw error
  }
}
