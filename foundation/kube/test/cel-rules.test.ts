import { describe, expect, test } from 'vitest'
import type { FieldError, JsonObject, JsonValue, SchemaNode, TypeSchema } from '@fairlead/kube'
import { applyMergePatch, fieldErrorBody, structuralSchema } from '@fairlead/kube'
import { compileRules, escapeFieldName, hasRules, validateRules } from '@fairlead/kube/cel'
import { recordings, sharedIsAbsent } from './support/shared.ts'

interface Cause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

function causesOf(errors: readonly FieldError[]): Cause[] {
  return errors.map((error) => ({ reason: error.type, message: fieldErrorBody(error), field: error.field }))
}

function causesIn(body: JsonObject | undefined): readonly Cause[] {
  return (body?.['details'] as { causes?: readonly Cause[] } | undefined)?.causes ?? []
}

const byText = (a: Cause, b: Cause): number => JSON.stringify(a).localeCompare(JSON.stringify(b))

describe.skipIf(sharedIsAbsent)('rules as recorded', () => {
  const cases = (sharedIsAbsent ? [] : recordings('cel')).flatMap(({ name, steps }) => {
    let schema: TypeSchema | undefined
    let live: JsonObject | undefined
    return steps.flatMap(({ request, response }, i) => {
      const body = request?.body as JsonObject | undefined
      if (request === undefined || response === undefined || body === undefined) return []
      const { status } = response
      if (body['kind'] === 'CustomResourceDefinition') {
        const { versions } = body['spec'] as { versions: readonly { schema: { openAPIV3Schema: SchemaNode } }[] }
        schema = structuralSchema(versions[0]!.schema.openAPIV3Schema)
        const run = compileRules
        const definition = schema
        return [{ name: `${name} ${i}`, errors: () => run(definition, 'spec.validation.openAPIV3Schema'), causes: causesIn(status === 422 ? response.body : undefined) }]
      }
      if (schema === undefined) return []
      const before = request.method === 'PATCH' ? live : undefined
      const value = before === undefined ? body : (applyMergePatch(before, body) as JsonObject)
      if (status < 300 && !request.path.includes('dryRun')) live = response.body
      const causes = causesIn(status === 422 ? response.body : undefined)
      // What the schema refuses never gets as far as its rules.
      if (causes.some(({ reason }) => reason === 'FieldValueTypeInvalid')) return []
      const definition = schema
      return [{ name: `${name} ${i}`, errors: () => validateRules(value, definition, { old: before }), causes }]
    })
  })

  test.each(cases)('$name', ({ errors, causes }) => {
    expect(causesOf(errors()).sort(byText)).toEqual([...causes].sort(byText))
  })
})
