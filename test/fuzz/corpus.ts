// The cases that fuzzing has found: one JSON file each under corpus/, played again by every `npm test`.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FuzzInput } from './input.ts'

const folder = join(import.meta.dirname, 'corpus')

/** One kept case: what was tried and what had not held. */
export interface FuzzCase {
  readonly found: string
  readonly input: FuzzInput
}

/** All kept cases by file name. */
export function readCorpus(): ReadonlyMap<string, FuzzCase> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return new Map(
    names.toSorted().map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as FuzzCase]),
  )
}

/** Keeps a case; gives its path. */
export function keepCase(found: FuzzCase): string {
  mkdirSync(folder, { recursive: true })
  const text = `${JSON.stringify(found, undefined, 2)}\n`
  const path = join(
    folder,
    `${found.input.target === 'function' ? found.input.name : 'server'}-${createHash('sha256').update(JSON.stringify(found.input)).digest('hex').slice(0, 8)}.json`,
  )
  writeFileSync(path, text)
  return path
}
