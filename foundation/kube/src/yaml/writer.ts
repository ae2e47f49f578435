// YAML as kubectl writes it.
import { goQuote } from '../go-text.ts'
import type { JsonValue } from '../object.ts'
import { isJsonObject } from '../own-property.ts'

/** Writes a value as `kubectl -o yaml` does: keys sorted, lists not indented, multi-line strings as literal blocks. */
export function stringifyYaml(value: JsonValue | object): string {
  const lines: string[] = []
  writeValue(lines, '', '', value as JsonValue)
  return lines.join('\n') + '\n'
}

/** Writes several documents, separated by `---`. */
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

/** Strings that a reader of the dialect resolves to another type unless quoted. */
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
