// Values with references: `$(now)` is the time, `$(.metadata.name)` a field of the object. A string that is one
// reference takes the type of the field.
import { parseColumnPath } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'

/** The values of references. */
export interface TemplateValues {
  readonly object: JsonObject
  /** RFC 3339. */
  readonly now: string
}

/**
 * Evaluates a template. `kept` is the existing value of the field: with it, `$(now)` keeps an existing string, so that
 * a time alone never causes a change.
 */
export type Template = (values: TemplateValues, kept?: JsonValue) => JsonValue

const reference = /\$\(([^)]*)\)/g

/** Parses a value with references. Throws Error for a reference that is neither `now` nor a path. */
export function parseTemplate(value: JsonValue): Template {
  if (typeof value === 'string') return parseString(value)
  if (Array.isArray(value)) {
    const items = (value as readonly JsonValue[]).map((item) => parseTemplate(item))
    return (values, kept) =>
      items.map((item, index) => item(values, Array.isArray(kept) ? (kept as readonly JsonValue[])[index] : undefined))
  }
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value as JsonObject).map(([name, field]) => [name, parseTemplate(field)] as const)
    return (values, kept) => {
      const filled: MutableJsonObject = {}
      for (const [name, field] of fields) {
        const existing = isObject(kept) && Object.hasOwn(kept, name) ? kept[name] : undefined
        Object.defineProperty(filled, name, {
          value: field(values, existing),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      }
      return filled
    }
  }
  return () => value
}

function parseString(text: string): Template {
  const parts: (string | Template)[] = []
  let from = 0
  for (const match of text.matchAll(reference)) {
    if (match.index > from) parts.push(text.slice(from, match.index))
    parts.push(parseReference(match[1]!.trim()))
    from = match.index + match[0].length
  }
  if (from < text.length) parts.push(text.slice(from))
  const [first] = parts
  if (parts.length === 1 && typeof first === 'function') return first
  if (parts.every((part) => typeof part === 'string')) return () => text
  return (values) => parts.map((part) => (typeof part === 'string' ? part : stringOf(part(values)))).join('')
}

function parseReference(name: string): Template {
  if (name === 'now') return (values, kept) => (typeof kept === 'string' ? kept : values.now)
  if (!name.startsWith('.')) throw new Error(`$(${name}) is unknown; use $(now) or a path such as $(.metadata.name)`)
  const path = parseColumnPath(name)
  return (values) => path(values.object)[0] ?? null
}

function stringOf(value: JsonValue): string {
  return typeof value === 'string'
    ? value
    : typeof value === 'object' && value !== null
      ? JSON.stringify(value)
      : String(value)
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
