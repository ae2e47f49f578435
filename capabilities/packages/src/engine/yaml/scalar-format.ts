// Scalars as kpt's YAML writer writes them: a parsed one keeps its style where its new value allows, a new one is plain
// unless another type would be read.
import type { Scalar } from 'yaml'
import { goQuote, yamlDialect, yamlLibrary } from '@fairlead/kube'

/** The place of a scalar: a key, a value within `{}` or `[]`, or any other value. */
export type ScalarPlace = 'key' | 'flow' | 'block'

/** Returns the lines of a scalar; those after the first are without indentation. */
export function formatScalar(node: Scalar, place: ScalarPlace): string[] {
  const { value, source, type } = node
  if (value instanceof Uint8Array) return binaryLines(source ?? Buffer.from(value).toString('base64'))
  if (typeof value !== 'string') return [keepsSource(node) ? source! : value === null ? 'null' : String(value)]
  if (place === 'block' && (type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED') && allowsBlock(value))
    return blockLines(value, type === 'BLOCK_LITERAL' ? '|' : '>')
  if (type === 'QUOTE_DOUBLE') return [goQuote(value)]
  if (type === 'QUOTE_SINGLE' && allowsSingle(value)) return singleLines(value)
  if (value.includes('\n')) return place === 'block' && allowsBlock(value) ? blockLines(value, '|') : [goQuote(value)]
  const wasPlain = type === 'PLAIN' && source === value
  if (!wasPlain && readsAsOtherType.test(value)) return [goQuote(value)]
  if (allowsPlain(value, place === 'flow')) return [value]
  return allowsSingle(value) ? singleLines(value) : [goQuote(value)]
}

/** Writes the base64 of a `!!binary`. */
function binaryLines(text: string): string[] {
  return text.includes('\n') ? blockLines(text, '|') : [text]
}

/** The value is still that of the source: `0x1f`, `1e3`, `~` and `yes` stay as they are. */
function keepsSource({ value, source }: Scalar): boolean {
  if (source === undefined) return false
  if (String(value) === source) return true
  const { isScalar, parseDocument } = yamlLibrary()
  const { contents } = parseDocument(source, yamlDialect)
  return contents === null ? value === null : isScalar(contents) && Object.is(contents.value, value)
}

/** Strings that YAML 1.1 or 1.2 reads as another type. */
const readsAsOtherType =
  /^(?:|~|null|Null|NULL|[yY]|[nN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|<<|=|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[\da-fA-F_]+|\d[\d_]*(?::[0-5]?\d)+(?:\.\d*)?|(?:\.\d+|\d[\d_]*(?:\.[\d_]*)?)(?:[eE][-+]?\d+)?)|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?)$/

const special = /[^\n\t\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u

function allowsPlain(value: string, inFlow: boolean): boolean {
  if (/^[#,[\]{}&*!|>'"%@`]|^[?:-](?:\s|$)|^---|^\.\.\.|^\s|\s$/.test(value)) return false
  if (/:(?:\s|$)|\s#|[\t\n]/.test(value) || special.test(value)) return false
  return !inFlow || !/[,?[\]{}]|^[:-]|:/.test(value)
}

function allowsSingle(value: string): boolean {
  return !/ \n|\n |\t/.test(value) && !special.test(value)
}

function allowsBlock(value: string): boolean {
  return value !== '' && !/ \n| $/.test(value) && !special.test(value)
}

function singleLines(value: string): string[] {
  return `'${value.replaceAll("'", "''").replaceAll('\n', '\n\n')}'`.split('\n')
}

function blockLines(value: string, indicator: '|' | '>'): string[] {
  const hint = /^[ \n]/.test(value) ? '2' : ''
  const chomp = !value.endsWith('\n') ? '-' : value === '\n' || value.endsWith('\n\n') ? '+' : ''
  const body = value.endsWith('\n') ? value.slice(0, -1) : value
  const lines = indicator === '|' ? body.split('\n') : foldedLines(body)
  return [`${indicator}${hint}${chomp}`, ...lines]
}

/** Doubles a line break between two lines of a folded scalar, which would be read as a blank. */
function foldedLines(body: string): string[] {
  const lines = body.split('\n')
  return lines.flatMap((line, index) => {
    const next = lines[index + 1]
    const folds = line !== '' && !line.startsWith(' ') && next !== undefined && !next.startsWith(' ')
    return folds ? [line, ''] : [line]
  })
}
