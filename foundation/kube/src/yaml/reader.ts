// YAML as kubectl and the API server read it, as JSON values with exact integers.
import type { Document, LineCounter } from 'yaml'
import { JsonSyntaxError, parseJson } from '../json.ts'
import type { ParseJsonOptions } from '../json.ts'
import type { JsonValue } from '../object.ts'
import { dialectOptions } from './dialect.ts'
import { yamlLibrary } from './library.ts'
import { NodeConverter } from './node-converter.ts'
import { YamlSyntaxError } from './syntax-error.ts'

/**
 * Reads the first document of a YAML stream; an empty one is null.
 * @throws YamlSyntaxError `InvalidYaml`, `YamlTooDeep`, `YamlAliases`
 */
export function parseYaml(text: string, options: ParseJsonOptions = {}): JsonValue {
  return parseYamlDocuments(text, options)[0] ?? null
}

/**
 * Reads every document of a YAML stream; empty ones are left out.
 * @throws YamlSyntaxError `InvalidYaml`, `YamlTooDeep`, `YamlAliases`
 */
export function parseYamlDocuments(text: string, options: ParseJsonOptions = {}): JsonValue[] {
  return locateYamlDocuments(text, options).map(({ value }) => value)
}

/** One document of a YAML stream. */
export interface LocatedDocument {
  readonly value: JsonValue
  /** The line where its content begins, from 1. */
  readonly line: number
}

/**
 * Reads every document of a YAML stream, each with its line; empty ones are left out.
 * @throws YamlSyntaxError `InvalidYaml`, `YamlTooDeep`, `YamlAliases`
 */
export function locateYamlDocuments(text: string, options: ParseJsonOptions = {}): LocatedDocument[] {
  let { documents, lineCounter } = read(text)
  for (let count = 0, current = text; count < (options.maxRepairs ?? maxReindented); count++) {
    const next = withIndentedQuote(current, documents)
    if (next === undefined) break
    current = next
    ;({ documents, lineCounter } = read(current))
  }
  const found: LocatedDocument[] = []
  for (const document of documents) {
    const [error] = document.errors
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0])
      if (/call stack/.test(error.message)) throw new YamlSyntaxError('YamlTooDeep', 'exceeded max depth', line, col)
      throw new YamlSyntaxError('InvalidYaml', goMessage(error.code, error.message), line, col)
    }
    if (document.contents === null) continue
    const value = new NodeConverter(document, lineCounter, options).value(document.contents, 0)
    if (value !== null) found.push({ value, line: lineCounter.linePos(document.contents.range[0]).line })
  }
  return found
}

/**
 * Decodes a request body or manifest: as JSON when it begins with `{`, as YAML otherwise or when JSON fails.
 * @throws JsonSyntaxError when both fail and it begins with `{`
 * @throws YamlSyntaxError when it does not begin with `{`
 */
export function decodeBody(text: string, options: ParseJsonOptions = {}): JsonValue {
  if (!/^\s*\{/.test(text)) return parseYaml(text, options)
  try {
    return parseJson(text, options)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) || error.code !== 'InvalidJson') throw error
    try {
      return parseYaml(text, options)
    } catch {
      throw error
    }
  }
}

/** The number of lines that are reindented in one source; each takes another parse of the whole. */
const maxReindented = 50

function read(text: string): { documents: readonly Document.Parsed[]; lineCounter: LineCounter } {
  const { LineCounter, parseAllDocuments } = yamlLibrary()
  const lineCounter = new LineCounter()
  try {
    const parsed = parseAllDocuments(text, { ...dialectOptions, lineCounter })
    return { documents: Array.isArray(parsed) ? parsed : [], lineCounter }
  } catch (error) {
    if (error instanceof RangeError) throw new YamlSyntaxError('YamlTooDeep', 'exceeded max depth')
    throw error
  }
}

/**
 * Returns the source with a continued line of a quoted scalar indented. Go's reader accepts such a line without
 * indentation, the library does not; within quotes the leading blanks have no meaning. Undefined when the error is
 * another one.
 */
function withIndentedQuote(text: string, documents: readonly Document.Parsed[]): string | undefined {
  const error = documents.flatMap(({ errors }) => errors.slice(0, 1))[0]
  if (error?.code !== 'MISSING_CHAR' || !/quote/.test(error.message)) return undefined
  const at = error.pos[0] + 1
  const isLineStart = text[at - 1] === '\n' && at < text.length
  return isLineStart && !/^(---|\.\.\.)(\s|$)/.test(text.slice(at, at + 4))
    ? text.slice(0, at) + ' '.repeat(64) + text.slice(at)
    : undefined
}

/** The messages of Go's YAML reader by the error codes of the library. */
const messages: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'did not find expected alphabetic or numeric character',
  BAD_DQ_ESCAPE: 'found unknown escape character',
  BAD_INDENT: 'did not find expected key',
  BAD_SCALAR_START: 'found character that cannot start any token',
  BLOCK_AS_IMPLICIT_KEY: 'mapping values are not allowed in this context',
  BLOCK_IN_FLOW: "did not find expected ',' or ']'",
  MULTIPLE_ANCHORS: 'did not find expected node content',
  TAB_AS_INDENT: 'found character that cannot start any token',
}

function goMessage(code: string, message: string): string {
  if (/flow sequence|flow-seq/i.test(message)) return "did not find expected ',' or ']'"
  if (/flow map/i.test(message)) return "did not find expected ',' or '}'"
  if (/quote/i.test(message)) return 'found unexpected end of stream'
  return messages[code] ?? message
}
