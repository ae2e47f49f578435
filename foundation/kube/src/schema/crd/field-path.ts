// Paths of rules (`fieldPath`) and of selectable fields: `.spec.a`, `.spec['odd.name']`, resolved against a schema.
import { fieldPath } from '../../field-error.ts'
import type { JsonSchemaProps } from './definition.ts'
import { additionalSchemaOf } from './visit-schema.ts'

/** The schema that a path resolves to, or the reason why it does not. */
export type ResolvedPath =
  | { readonly path: string; readonly first: string; readonly schema: JsonSchemaProps }
  | { readonly problem: string }

/** Reports whether a path resolves to a field of the schema. */
export function isFieldPath(path: string, schema: JsonSchemaProps): boolean {
  return !('problem' in resolveFieldPath(path, schema))
}

/** Resolves a path from the root of `schema`. `allowBrackets`: `['name']` is allowed. Messages are Kubernetes'. */
export function resolveFieldPath(path: string, schema: JsonSchemaProps, allowBrackets: boolean = true): ResolvedPath {
  let rest = path
  let current = schema
  let names: readonly string[] = []
  let shown = ''
  while (rest !== '') {
    const step = nextStep(rest, allowBrackets)
    if ('problem' in step) return step
    const next = fieldNamed(current, step.name)
    if (next === undefined) return { problem: 'does not refer to a valid field' }
    shown = next.isDeclared ? fieldPath(shown, step.name) : fieldPath(shown, { key: step.name })
    names = [...names, step.name]
    current = next.schema
    rest = step.rest
  }
  return { path: shown, first: names[0] ?? '', schema: current }
}

type Step = { readonly name: string; readonly rest: string } | { readonly problem: string }

function nextStep(text: string, allowBrackets: boolean): Step {
  if (text.startsWith('.')) {
    const name = /^[^.[\]]+/.exec(text.slice(1))?.[0]
    return name === undefined
      ? { problem: text === '.' ? 'unexpected end of JSON path' : 'does not refer to a valid field' }
      : { name, rest: text.slice(1 + name.length) }
  }
  if (!text.startsWith('[')) return { problem: `expected [ or . but got: ${/^[^.[\]]+|./.exec(text)?.[0] ?? ''}` }
  if (!allowBrackets) return { problem: 'array notation is not allowed' }
  const quoted = /^\['((?:[^'\\]|\\.)*)'\]/.exec(text)
  if (quoted !== null) return { name: quoted[1]!.replace(/\\(.)/g, '$1'), rest: text.slice(quoted[0].length) }
  const token = /^[^.[\]]+/.exec(text.slice(1))?.[0] ?? ''
  return { problem: token === '' ? 'unexpected end of JSON path' : `expected single quoted string but got ${token}` }
}

function fieldNamed(
  schema: JsonSchemaProps,
  name: string,
): { schema: JsonSchemaProps; isDeclared: boolean } | undefined {
  if (schema.properties !== undefined && Object.keys(schema.properties).length > 0) {
    return Object.hasOwn(schema.properties, name) ? { schema: schema.properties[name]!, isDeclared: true } : undefined
  }
  const additional = additionalSchemaOf(schema)
  return additional === undefined ? undefined : { schema: additional, isDeclared: false }
}
