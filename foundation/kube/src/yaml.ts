// YAML as kubectl and the API server read and write it. Their dialect is neither 1.1 nor 1.2: yes/no/on/off are booleans and 0777 is octal
// as in 1.1, but times and 12:30 stay strings, and 0o17 is octal too. Values come out as JSON values, exact integers included.
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { Alias, Document, LineCounter, Node, Pair, Scalar, ScalarTag, Tags } from 'yaml'
import { goQuote } from './go-text.ts'
import { JsonSyntaxError, formatJsonPath, maxJsonDepth, parseJson } from './json.ts'
import type { ParseJsonOptions } from './json.ts'
import { isJsonObject, setOwn } from './own-property.ts'
import type { JsonValue, MutableJsonObject } from './object.ts'

let loaded: typeof Yaml | undefined

/** Loaded when the first YAML is read: its 70 files take 20 ms, and most processes read JSON only. */
function library(): typeof Yaml {
  return (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml)
}

/**
 * A YAML text that cannot be read. Lines and columns count from 1; 0 where none can be named.
 * - `InvalidYaml`: the text is not YAML, or says what JSON cannot.
 * - `YamlTooDeep`: lists and maps nest deeper than {@link maxJsonDepth}.
 * - `YamlAliases`: aliases make far more of the text than stands in it.
 */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError'
  readonly code: 'InvalidYaml' | 'YamlTooDeep' | 'YamlAliases'
  readonly line: number
  readonly column: number

  constructor(code: YamlSyntaxError['code'], message: string, line: number = 0, column: number = 0) {
    super(line > 0 ? `yaml: line ${line}: ${message}` : `yaml: ${message}`)
    this.code = code
    this.line = line
    this.column = column
  }
}

const newOctal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  identify: (value) => typeof value === 'bigint',
  default: true,
  format: 'OCT',
  test: /^[-+]?0o_*[0-7][0-7_]*$/,
  resolve: (text) => {
    const digits = text.replaceAll('_', '')
    return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits.replace('+', ''))
  },
}

/** Go takes nothing for a number that lacks a digit where one must stand: `.`, `e3`, `-.5e`, `._5` and `0x_` are strings. */
const hasDigits: Readonly<Record<string, string>> = {
  'tag:yaml.org,2002:float': '^(?=[-+]?\\.?\\d|[-+]?\\.[iInN])',
  'tag:yaml.org,2002:int': '^(?![-+]?0[xb]_*$)',
  'tag:yaml.org,2002:int OCT': '^(?![-+]?0_+$)',
}

/** The tags of YAML 1.1 without times and base 60, and with `0o`. */
function dialect(tags: Tags): Tags {
  const kept = tags.filter((tag) => {
    if (typeof tag === 'string') return tag !== 'timestamp' && !tag.endsWith('Time')
    return tag.tag !== 'tag:yaml.org,2002:timestamp' && tag.format !== 'TIME'
  })
  return [newOctal, ...kept.map(demandDigits)]
}

function demandDigits(tag: Tags[number]): Tags[number] {
  const ahead = typeof tag === 'string' ? undefined : (hasDigits[`${tag.tag} ${tag.format}`] ?? hasDigits[tag.tag])
  if (ahead === undefined || typeof tag === 'string' || !('test' in tag) || tag.test === undefined) return tag
  return { ...tag, test: new RegExp(ahead + tag.test.source.slice(1), tag.test.flags) }
}

const readOptions = {
  version: '1.1',
  schema: 'yaml-1.1',
  customTags: dialect,
  intAsBigInt: true,
  uniqueKeys: false,
  keepSourceTokens: false,
  strict: true,
  prettyErrors: false,
  logLevel: 'silent',
} as const

/**
 * Reads the first document of a text; an empty one is null.
 * @throws YamlSyntaxError `InvalidYaml`, `YamlTooDeep`, `YamlAliases`
 */
export function parseYaml(text: string, options: ParseJsonOptions = {}): JsonValue {
  return parseYamlDocuments(text, options)[0] ?? null
}

/**
 * Reads every document of a text; empty ones are left out.
 * @throws YamlSyntaxError `InvalidYaml`, `YamlTooDeep`, `YamlAliases`
 */
export function parseYamlDocuments(text: string, options: ParseJsonOptions = {}): JsonValue[] {
  return locateYamlDocuments(text, options).map(({ value }) => value)
}

/** One document of a YAML stream. */
export interface LocatedDocument {
  readonly value: JsonValue
  /** Line where its content begins, from 1. */
  readonly line: number
}

/**
 * Reads every document of a YAML stream, each with its line; empty ones are left out.
 * @throws YamlSyntaxError `InvalidYaml`, `YamlTooDeep`, `YamlAliases`
 */
export function locateYamlDocuments(text: string, options: ParseJsonOptions = {}): LocatedDocument[] {
  let { documents, lineCounter } = read(text)
  for (let mended = 0, current = text; mended < maxMended; mended++) {
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
    const value = new Converter(document, lineCounter, options).value(document.contents, 0)
    if (value !== null) found.push({ value, line: lineCounter.linePos(document.contents.range[0]).line })
  }
  return found
}

/** Lines of quoted texts that are mended in one text; each costs a reading of all of it. */
const maxMended = 50

function read(text: string): { documents: readonly Document.Parsed[]; lineCounter: LineCounter } {
  const { LineCounter, parseAllDocuments } = library()
  const lineCounter = new LineCounter()
  try {
    const parsed = parseAllDocuments(text, { ...readOptions, lineCounter })
    return { documents: Array.isArray(parsed) ? parsed : [], lineCounter }
  } catch (error) {
    if (error instanceof RangeError) throw new YamlSyntaxError('YamlTooDeep', 'exceeded max depth')
    throw error
  }
}

/**
 * Go's reader takes a quoted text that goes on at the start of a line, whatever the indentation around it; ours ends it there. Blanks before such
 * a line mean nothing within quotes. Undefined when that is not what is wrong.
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

/** What Go's YAML reader says, by the codes of ours. */
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

/** Expanded aliases may add this many nodes, beside ten times those written. */
const aliasAllowance = 100_000

class Converter {
  readonly #yaml = library()
  readonly #document: Document.Parsed
  readonly #lines: LineCounter
  readonly #maxDepth: number
  readonly #onDuplicate: ParseJsonOptions['onDuplicate']
  readonly #anchors = new Map<string, Node>()
  readonly #resolving = new Set<Node>()
  readonly #path: (string | number)[] = []
  readonly #limit: number
  #visited = 0

  constructor(document: Document.Parsed, lines: LineCounter, options: ParseJsonOptions) {
    this.#document = document
    this.#lines = lines
    this.#maxDepth = options.maxDepth ?? maxJsonDepth
    this.#onDuplicate = options.onDuplicate
    let written = 0
    this.#yaml.visit(document, () => void written++)
    this.#limit = aliasAllowance + 10 * written
  }

  value(node: unknown, depth: number): JsonValue {
    if (++this.#visited > this.#limit) throw new YamlSyntaxError('YamlAliases', 'document contains excessive aliasing')
    if (depth > this.#maxDepth) throw new YamlSyntaxError('YamlTooDeep', 'exceeded max depth')
    if (node === null || node === undefined) return null
    if (this.#yaml.isAlias(node)) return this.#alias(node, depth)
    if (this.#yaml.isScalar(node)) {
      this.#remember(node)
      return this.#scalar(node.value, node)
    }
    if (this.#yaml.isSeq(node)) {
      this.#remember(node)
      return node.items.map((item, i) => {
        this.#path.push(i)
        // A sequence of pairs (`!!omap`, `!!pairs`) reads as a list of objects of one member.
        const value = this.#yaml.isPair(item) ? this.#mapOf([item], depth) : this.value(item, depth + 1)
        this.#path.pop()
        return value
      })
    }
    if (this.#yaml.isMap(node)) {
      this.#remember(node)
      return this.#mapOf(node.items, depth)
    }
    throw this.#error('unsupported node', node as Node)
  }

  #remember(node: Node): void {
    const anchor = (node as { anchor?: string }).anchor
    if (anchor !== undefined) this.#anchors.set(anchor, node)
  }

  #alias(alias: Alias, depth: number): JsonValue {
    const target = this.#anchors.get(alias.source) ?? alias.resolve(this.#document)
    if (target === undefined) throw this.#error(`unknown anchor '${alias.source}' referenced`, alias)
    if (this.#resolving.has(target)) throw this.#error(`anchor '${alias.source}' value contains itself`, alias)
    this.#resolving.add(target)
    const value = this.value(target, depth + 1)
    this.#resolving.delete(target)
    return value
  }

  #mapOf(pairs: readonly Pair[], depth: number): JsonValue {
    const out: MutableJsonObject = {}
    const merged: Node[] = []
    for (const pair of pairs) {
      if (this.#isMergeKey(pair)) {
        merged.push(pair.value as Node)
        continue
      }
      const key = this.#key(pair.key)
      this.#path.push(key)
      if (Object.hasOwn(out, key)) this.#onDuplicate?.(formatJsonPath(this.#path), this.#lineOf(pair.key as Node))
      setOwn(out, key, this.value(pair.value, depth + 1))
      this.#path.pop()
    }
    for (const source of merged) this.#merge(out, source, depth)
    return out
  }

  #isMergeKey({ key }: Pair): boolean {
    if (!this.#yaml.isScalar(key)) return false
    return typeof key.value === 'symbol' || (key.value === '<<' && key.type === 'PLAIN')
  }

  #lineOf(node: Node): number {
    return node.range === null || node.range === undefined ? 0 : this.#lines.linePos(node.range[0]).line
  }

  /** `<<`: members of the other maps that this one does not have. */
  #merge(out: MutableJsonObject, source: Node, depth: number): void {
    const value = this.value(source, depth + 1)
    for (const map of Array.isArray(value) ? (value as JsonValue[]) : [value]) {
      if (!isJsonObject(map)) throw this.#error('map merge requires map or sequence of maps as the value', source)
      for (const key of Object.keys(map)) if (!Object.hasOwn(out, key)) setOwn(out, key, map[key]!)
    }
  }

  #key(node: unknown): string {
    const value = this.value(node, 0)
    switch (typeof value) {
      case 'string':
        return value
      case 'boolean':
      case 'number':
      case 'bigint':
        return String(value)
      default:
        throw this.#error('unsupported map key', node as Node)
    }
  }

  #scalar(value: unknown, node: Node): JsonValue {
    if (typeof value === 'bigint') {
      const number = Number(value)
      if (Number.isSafeInteger(number)) return number
      if (!Number.isFinite(number)) return sourceOf(node)
      return value < 1n << 63n && value >= -(1n << 63n) ? value : number
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      if (/\d/.test(sourceOf(node))) return sourceOf(node)
      const text = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
      throw this.#error(`json: unsupported value: ${text}`, node)
    }
    if (value instanceof Uint8Array) return new TextDecoder().decode(value)
    if (typeof value === 'string' && !value.isWellFormed())
      throw this.#error('found invalid Unicode character escape code', node)
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return value
    throw this.#error('unsupported scalar', node)
  }

  #error(message: string, node: Node | null): YamlSyntaxError {
    const start = node?.range?.[0]
    if (start === undefined) return new YamlSyntaxError('InvalidYaml', message)
    const { line, col } = this.#lines.linePos(start)
    return new YamlSyntaxError('InvalidYaml', message, line, col)
  }
}

/** A scalar as it is written: Go reads numbers that no float64 holds as strings. */
function sourceOf(node: Node): string {
  return (node as Scalar).source ?? ''
}

/**
 * Reads a request body or manifest: JSON first when it begins with `{`, YAML when that fails.
 * @throws JsonSyntaxError when neither reads it and it looks like JSON
 * @throws YamlSyntaxError when it does not look like JSON
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

/** Writes a value as `kubectl -o yaml` does: keys sorted, lists not indented, literal blocks for texts of several lines. */
export function stringifyYaml(value: JsonValue | object): string {
  const lines: string[] = []
  writeValue(lines, '', '', value as JsonValue)
  return lines.join('\n') + '\n'
}

/** Several documents, separated by `---`. */
export function stringifyYamlDocuments(values: readonly (JsonValue | object)[]): string {
  return values.map(stringifyYaml).join('---\n')
}

/** Writes `value` after `lead` (a key with its colon, a dash, or nothing), continuing at `indent`. */
function writeValue(lines: string[], lead: string, indent: string, value: JsonValue): void {
  if (Array.isArray(value) && value.length > 0) {
    const inList = lead.endsWith('-')
    if (lead !== '' && !inList) lines.push(lead)
    ;(value as JsonValue[]).forEach((item, i) => {
      writeValue(lines, inList && i === 0 ? `${lead} -` : `${indent}-`, `${indent}  `, item)
    })
  } else if (isJsonObject(value) && Object.keys(value).length > 0) {
    const inList = lead.endsWith('-')
    if (lead !== '' && !inList) lines.push(lead)
    const keys = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort()
    keys.forEach((key, i) => {
      const start = inList && i === 0 ? `${lead} ` : indent
      const child = value[key]!
      const childIndent = Array.isArray(child) ? indent : `${indent}  `
      writeValue(lines, `${start}${formatString(key, true)}:`, childIndent, child)
    })
  } else {
    const text = formatScalar(value)
    if (text.startsWith('|')) {
      const [head, ...body] = text.split('\n')
      lines.push(`${lead}${lead === '' ? '' : ' '}${head}`)
      for (const line of body) lines.push(line === '' ? '' : `${indent === '' ? '  ' : indent}${line}`)
    } else {
      lines.push(lead === '' ? text : `${lead} ${text}`)
    }
  }
}

function formatScalar(value: JsonValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return formatString(value, false)
  if (Array.isArray(value)) return '[]'
  if (typeof value === 'object') return '{}'
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2')
}

/** Texts that a YAML reader of the dialect takes for something else. */
const looksTyped =
  /^(?:|~|null|Null|NULL|[yY]|[nN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|<<|=|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[\da-fA-F_]+|\d[\d_]*(?::[0-5]?\d)+(?:\.\d*)?|(?:\.\d+|\d[\d_]*(?:\.[\d_]*)?)(?:[eE][-+]?\d+)?)|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?)$/

const unprintable = /[^\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u
const startsLikeSyntax = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:\s|$)|---|\.\.\.|\s)/
const containsSyntax = /:(?:\s|$)|\s#|\s$/

function formatString(text: string, isKey: boolean): string {
  if (looksTyped.test(text) || unprintable.test(text)) return goQuote(text)
  if (text.includes('\n')) {
    if (isKey || / \n|[ \n] *$/.test(text.replace(/\n$/, '')) || /^\s/.test(text)) return goQuote(text)
    return `|${text.endsWith('\n') ? '' : '-'}\n${text.replace(/\n$/, '')}`
  }
  if (startsLikeSyntax.test(text) || containsSyntax.test(text)) return `'${text.replaceAll("'", "''")}'`
  return text
}
