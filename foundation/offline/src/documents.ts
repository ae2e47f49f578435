// Reads the documents of YAML and JSON files, whatever their values are.
import { readFileSync } from 'node:fs'
import { JsonSyntaxError, YamlSyntaxError, duplicateFieldMessage, locateYamlDocuments, parseJson } from '@fairlead/kube'
import type { JsonValue, LocatedDocument } from '@fairlead/kube'
import { ManifestError } from './manifest-error.ts'
import { manifestFiles, unreadable } from './manifest-files.ts'

/** A YAML or JSON value and where it is. */
export interface Document {
  readonly file: string
  /** Line where the value begins, from 1. */
  readonly line: number
  readonly value: JsonValue
}

/** Returns advice to append to the message of a syntax error, or undefined when there is none. */
export type SyntaxHint = (problem: string) => string | undefined

/**
 * Returns the documents of a file, or of the files that {@link manifestFiles} finds in a folder. Empty and null
 * documents are left out.
 * @throws ManifestError
 */
export function readDocuments(path: string, hint?: SyntaxHint): readonly Document[] {
  return manifestFiles(path).flatMap((file) => parseDocuments(readText(file), file, hint))
}

/**
 * Returns the documents of a string; `file` is the name for messages.
 * @throws ManifestError on syntax errors and duplicate keys
 */
export function parseDocuments(text: string, file: string, hint?: SyntaxHint): readonly Document[] {
  try {
    return located(text.replace(/^\uFEFF/, ''), file).map(({ value, line }) => ({ file, line, value }))
  } catch (error) {
    if (!(error instanceof YamlSyntaxError) && !(error instanceof JsonSyntaxError)) throw error
    const problem = error.message.replace(/^yaml: line \d+: /, 'yaml: ')
    const advice = hint?.(problem)
    const message = advice === undefined ? problem : `${problem}; ${advice}`
    throw new ManifestError(file, Math.max(1, error.line), message, { cause: error })
  }
}

/** JSON is tried first where the text looks like it: tabs may indent JSON, not YAML. */
function located(text: string, file: string): readonly LocatedDocument[] {
  const onDuplicate = (path: string, line = 1): never => {
    throw new ManifestError(file, line, duplicateFieldMessage(path))
  }
  if (/^\s*[{[]/.test(text)) {
    try {
      const [indent = ''] = /^\s*/.exec(text) ?? []
      return [{ value: parseJson(text, { onDuplicate }), line: indent.split('\n').length }]
    } catch (error) {
      if (!(error instanceof JsonSyntaxError) || file.endsWith('.json')) throw error
    }
  }
  return locateYamlDocuments(text, { onDuplicate })
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadable(file, error)
  }
}
