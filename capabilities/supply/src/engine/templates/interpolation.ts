// Interpolation of `$(path)$` tags in templates (originals/cartographer.md §2.1). Tags inside interpolated values are
// not evaluated.
import { isJsonArray, isJsonObject, setOwn } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { lookup } from '../values/path.ts'
import { formatValue } from '../values/value-format.ts'

/** A tag that cannot be evaluated. The message has the path in the template and the tag. */
export class InterpolationError extends Error {
  override readonly name = 'InterpolationError'
  readonly code = 'InterpolationFailed'
}

const [opening, closing] = ['$(', ')$'] as const

/**
 * Returns the template with every tag replaced by its value. A tag whose value is absent in `context` is looked up in
 * `unset`. Throws {@link InterpolationError}.
 */
export function interpolate(template: JsonValue, context: JsonObject, unset: JsonObject = {}): JsonValue {
  return filled(template, { context, unset }, '')
}

interface Variables {
  readonly context: JsonObject
  readonly unset: JsonObject
}

/**
 * Returns a string with every tag replaced. A string that is a single tag becomes the value itself, of any type. Throws
 * {@link InterpolationError}.
 */
export function interpolateString(template: string, context: JsonObject): JsonValue {
  return replaced(template, { context, unset: {} })
}

function replaced(template: string, context: Variables): JsonValue {
  if (
    template.startsWith(opening) &&
    template.endsWith(closing) &&
    template.indexOf(opening, 1) < 0 &&
    template.length >= 4
  )
    return valueOf(template.slice(2, -2), context)
  let out = ''
  for (let at = 0; ;) {
    const start = template.indexOf(opening, at)
    const end = start < 0 ? -1 : template.indexOf(closing, start + 2)
    if (end < 0) return out + template.slice(at)
    const tag = template.slice(start + 2, end)
    const value = valueOf(tag, context)
    if (value === null) throw new InterpolationError(`interpolate tag: tag must not point to nil value: ${tag.trim()}`)
    out += template.slice(at, start) + formatValue(value)
    at = end + 2
  }
}

function valueOf(tag: string, { context, unset }: Variables): JsonValue {
  const quoted = `${opening}${tag}${closing}`
  const path = tag.trim()
  if (path === '') throw new InterpolationError(`evaluate tag ${quoted}: empty jsonpath not allowed`)
  const found = lookup(path, context)
  if (found.kind === 'value') return found.value
  const zero = found.kind === 'absent' ? lookup(path, unset) : found
  if (zero.kind === 'value') return zero.value
  const problem = found.kind === 'absent' ? `jsonpath returned empty list: ${path}` : found.message
  throw new InterpolationError(`evaluate tag ${quoted}: ${problem}`)
}

function filled(value: JsonValue, context: Variables, at: string): JsonValue {
  if (typeof value === 'string') return interpolatedAt(value, context, at)
  if (isJsonArray(value)) return value.map((item, index) => filled(item, context, `${at}[${index}]`))
  if (!isJsonObject(value)) return value
  const out: MutableJsonObject = {}
  for (const key of Object.keys(value)) setOwn(out, key, filled(value[key]!, context, at === '' ? key : `${at}.${key}`))
  return out
}

function interpolatedAt(template: string, context: Variables, at: string): JsonValue {
  if (!template.includes(opening)) return template
  try {
    return replaced(template, context)
  } catch (error) {
    if (!(error instanceof InterpolationError)) throw error
    throw new InterpolationError(`failed to interpolate template at path [${at}]: ${error.message}`)
  }
}
