// `{{id}}`, `{{ns}}`, `{{Id}}` and `{{steps[3].body.metadata.uid}}` in requests, arguments and expected values.
import { randomInt } from 'node:crypto'
import type { JsonValue } from '@fairlead/kube'

/** The values that templates of one scenario may refer to. `steps` are the actual responses, not normalised. */
export interface TemplateScope {
  readonly id: string
  readonly ns: string
  readonly steps: JsonValue[]
}

/** The scope of a new scenario: an id of eight characters, the first a letter. */
export function newScope(): TemplateScope {
  const letters = 'bcdfghjkmnpqrstvwxz'
  const all = `${letters}2456789`
  const pick = (set: string): string => set.charAt(randomInt(set.length))
  const id = pick(letters) + Array.from({ length: 7 }, () => pick(all)).join('')
  return { id, ns: `ns-${id}`, steps: [] }
}

const whole = /^\{\{([^{}]+)\}\}$/
const inside = /\{\{([^{}]+)\}\}/g

/** The value at `a.b[0].c`, or undefined. `[type=Ready]` picks a list element by field. */
export function valueAt(root: JsonValue | undefined, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = root
  for (const part of path.match(/\[[^\]]*\]|[^.[\]]+/g) ?? []) {
    if (value === null || typeof value !== 'object') return undefined
    if (!part.startsWith('[')) {
      value = Array.isArray(value) ? undefined : (value as Record<string, JsonValue>)[part]
      continue
    }
    const inner = part.slice(1, -1)
    const equals = inner.indexOf('=')
    if (equals > 0 && Array.isArray(value)) {
      const field = inner.slice(0, equals)
      const wanted = inner.slice(equals + 1)
      value = value.find((item) => String((item as Record<string, JsonValue> | null)?.[field]) === wanted)
    } else {
      value = Array.isArray(value)
        ? value[Number(inner)]
        : (value as Record<string, JsonValue>)[inner.replace(/^["']|["']$/g, '')]
    }
  }
  return value
}

function lookUp(expression: string, scope: TemplateScope): JsonValue {
  const name = expression.trim()
  if (name === 'id') return scope.id
  if (name === 'Id') return scope.id.charAt(0).toUpperCase() + scope.id.slice(1)
  if (name === 'ns') return scope.ns
  const value = valueAt({ steps: scope.steps }, name)
  if (value === undefined)
    throw new Error(`the template {{${name}}} has no value: the step it names answered something else`)
  return value
}

/** Fills in the templates of a string; a non-string is inserted as JSON. `encode` is applied to each value (paths). */
export function fillText(
  text: string,
  scope: TemplateScope,
  encode: (value: string) => string = (value) => value,
): string {
  return text.replace(inside, (_, expression: string) => {
    const value = lookUp(expression, scope)
    return encode(typeof value === 'string' ? value : JSON.stringify(value))
  })
}

/**
 * Fills in the templates in all strings and keys of a value; a string that is one template becomes the value itself.
 */
export function fill(value: JsonValue, scope: TemplateScope): JsonValue {
  if (typeof value === 'string') {
    const only = whole.exec(value)
    return only ? lookUp(only[1] as string, scope) : fillText(value, scope)
  }
  if (Array.isArray(value)) return value.map((item) => fill(item as JsonValue, scope))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [fillText(key, scope), fill(item as JsonValue, scope)]),
  )
}
