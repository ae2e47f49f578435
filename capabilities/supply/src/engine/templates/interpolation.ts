// `$(path)$` tags in templates (originals/cartographer.md §2.1). One evaluation: values that hold tags themselves stay as they are.
import { isJsonArray, isJsonObject, setOwn } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { lookup } from '../values/path.ts'
import { formatValue } from '../values/value-format.ts'

/** A template that cannot be filled in. The message names the place in the template and the tag. */
export class InterpolationError extends Error {
  override readonly name = 'InterpolationError'
  readonly code = 'InterpolationFailed'
}

const [opening, closing] = ['$(', ')$'] as const

/** The template with every tag in place of its value. Throws {@link InterpolationError}. */
export function interpolate(template: JsonValue, context: JsonObject): JsonValue {
  return filled(template, context, '')
}

/** One text with its tags filled in. A text that is one tag keeps the type of the value. Throws {@link InterpolationError}. */
export function interpolateText(text: string, context: JsonObject): JsonValue {
  if (text.startsWith(opening) && text.endsWith(closing) && text.indexOf(opening, 1) < 0 && text.length >= 4)
    return valueOf(text.slice(2, -2), context)
  let out = ''
  for (let at = 0; ;) {
    const start = text.indexOf(opening, at)
    const end = start < 0 ? -1 : text.indexOf(closing, start + 2)
    if (end < 0) return out + text.slice(at)
    const tag = text.slice(start + 2, end)
    const value = valueOf(tag, context)
    if (value === null) throw new InterpolationError(`interpolate tag: tag must not point to nil value: ${tag.trim()}`)
    out += text.slice(at, start) + formatValue(value)
    at = end + 2
  }
}

function valueOf(tag: string, context: JsonObject): JsonValue {
  const shown = `${opening}${tag}${closing}`
  const path = tag.trim()
  if (path === '') throw new InterpolationError(`evaluate tag ${shown}: empty jsonpath not allowed`)
  const found = lookup(path, context)
  if (found.kind === 'value') return found.value
  const why = found.kind === 'absent' ? `jsonpath returned empty list: ${path}` : found.message
  throw new InterpolationError(`evaluate tag ${shown}: ${why}`)
}

function filled(value: JsonValue, context: JsonObject, at: string): JsonValue {
  if (typeof value === 'string') return textAt(value, context, at)
  if (isJsonArray(value)) return value.map((item, index) => filled(item, context, `${at}[${index}]`))
  if (!isJsonObject(value)) return value
  const out: MutableJsonObject = {}
  for (const key of Object.keys(value)) setOwn(out, key, filled(value[key]!, context, at === '' ? key : `${at}.${key}`))
  return out
}

function textAt(text: string, context: JsonObject, at: string): JsonValue {
  if (!text.includes(opening)) return text
  try {
    return interpolateText(text, context)
  } catch (error) {
    if (!(error instanceof InterpolationError)) throw error
    throw new InterpolationError(`failed to interpolate template at path [${at}]: ${error.message}`)
  }
}
