// Case files (shared/cases/README.md): `{about, cases: [...]}`, each case an input and the expected result.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

/** One case. Its area fixes the shape of `input` and `want`. */
export interface Case {
  readonly id: string
  readonly area: string
  readonly title?: string
  readonly input: Readonly<Record<string, unknown>>
  readonly want: Readonly<Record<string, unknown>>
  readonly manual?: boolean
}

/** A file of cases. */
export interface CaseFile {
  readonly name: string
  readonly cases: readonly Case[]
  /** All other fields of the file. */
  readonly more: Readonly<Record<string, unknown>>
}

const caseKeys = new Set([
  'id',
  'area',
  'title',
  'input',
  'want',
  'manual',
  'original',
  'ack',
  'note',
  'basis',
  'source',
  'rules',
])

/** The case files of a path: the file itself, or every `.json` of a folder in name order. */
export function caseFiles(path: string): string[] {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  return readdirSync(path)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(path, name))
}

/** Reads a case file. Throws when it is not of that form. */
export function readCaseFile(path: string): CaseFile {
  const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (!isRecord(parsed) || !Array.isArray(parsed.cases))
    throw new Error(`${path} is no case file: it has no list "cases"`)
  const { cases, ...more } = parsed
  return { name: basename(path), cases: cases as Case[], more }
}

/** Returns what is wrong with the outer form of a case, as the README describes it. */
export function formOf(entry: Case): string[] {
  const wrong = Object.keys(entry)
    .filter((key) => !caseKeys.has(key))
    .map((key) => `unknown key ${key}`)
  for (const key of ['id', 'area'] as const) if (typeof entry[key] !== 'string') wrong.push(`${key} is no text`)
  for (const key of ['input', 'want'] as const) if (!isRecord(entry[key])) wrong.push(`${key} is no object`)
  return wrong
}

/** The value is an object with fields. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
