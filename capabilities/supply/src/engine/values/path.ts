// The paths of templates, rules and selectors: one JSONPath expression in kubectl's dialect with exactly one result
// (originals/cartographer.md §2.3). Missing keys and indexes out of range make the value absent; they are no errors.
import { JsonPathError, parseJsonPath, relaxedJsonPath } from '@fairlead/kube'
import type { JsonPathTemplate, JsonValue } from '@fairlead/kube'

/** The value at a path. */
export type LookupResult =
  | { readonly kind: 'value'; readonly value: JsonValue }
  | { readonly kind: 'absent' }
  /** The path is invalid or has several results. */
  | { readonly kind: 'error'; readonly message: string }

const absent: LookupResult = { kind: 'absent' }

/** Parsed paths that are cached; the oldest is evicted first. */
const cacheSize = 2000
const parsed = new Map<string, JsonPathTemplate | JsonPathError>()

/** Returns the value at `path` in `value`. `x.y`, `.x.y` and `{.x.y}` are the same path. */
export function lookup(path: string, value: JsonValue): LookupResult {
  const template = templateOf(path)
  if (template instanceof JsonPathError) return { kind: 'error', message: template.message }
  let results: JsonValue[][]
  try {
    results = template.find(value)
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error
    return isOutOfRange(error) ? absent : { kind: 'error', message: error.message }
  }
  if (results.length > 1) return { kind: 'error', message: `more than one expression in the path: ${path}` }
  const [found = []] = results
  if (found.length > 1)
    return {
      kind: 'error',
      message: `too many results for the query: ${path} (${found.length} results, one is needed)`,
    }
  return found.length === 0 ? absent : { kind: 'value', value: found[0]! }
}

/** Returns the error message of an invalid path, undefined for a valid one. */
export function pathProblem(path: string): string | undefined {
  if (path.trim() === '') return 'the path is empty'
  const template = templateOf(path)
  if (template instanceof JsonPathError) return template.message
  return undefined
}

function templateOf(path: string): JsonPathTemplate | JsonPathError {
  const cached = parsed.get(path)
  if (cached !== undefined) return cached
  let template: JsonPathTemplate | JsonPathError
  try {
    template = parseJsonPath(relaxedJsonPath(path.trim()), { allowMissingKeys: true })
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error
    template = error
  }
  if (parsed.size >= cacheSize) parsed.delete(parsed.keys().next().value as string)
  parsed.set(path, template)
  return template
}

/**
 * Reports whether an index is out of range; such a value is absent, like a missing field (originals/cartographer.md
 * §3.6).
 */
function isOutOfRange(error: JsonPathError): boolean {
  return error.message.startsWith('array index out of bounds') || error.message.startsWith('starting index')
}
