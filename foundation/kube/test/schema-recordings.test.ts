// Pruning, defaults and validation of custom resources against the responses of a real kube-apiserver
// (shared/kubernetes/recordings).
import { expect, test } from 'vitest'
import type {
  EmbeddedObjectError,
  FieldError,
  JsonObject,
  JsonValue,
  ObjectMetaError,
  SchemaNode,
  TypeSchema,
} from '@fairlead/kube'
import {
  applySchemaDefaults,
  coerceEmbeddedMetadata,
  decodeObjectMeta,
  fieldErrorBody,
  prune,
  stringifyJson,
  structuralSchema,
  unknownFieldMessage,
  validateEmbedded,
  validateListTypes,
  validateValue,
} from '@fairlead/kube'
import { describeData, recordings } from '../../../test/support/conformance-data.ts'

interface Step {
  readonly request?: { readonly method: string; readonly path: string; readonly body?: JsonObject }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string | string[]>>
    readonly body: JsonObject
  }
}

interface Scenario {
  readonly name: string
  readonly steps: readonly Step[]
}

function scenarios(area: string): readonly Scenario[] {
  return recordings(area) as unknown as readonly Scenario[]
}

/** Returns the recorded creations of custom resources, with the schema of the scenario's first request. */
function creations(): { title: string; schema: TypeSchema; step: Step }[] {
  return ['crd', 'cel', 'apply', 'list', 'table'].flatMap(scenarios).flatMap((scenario) => {
    const crd = scenario.steps[0]?.request?.body
    if (crd?.['kind'] !== 'CustomResourceDefinition' || scenario.steps[0]?.response.status !== 201) return []
    const spec = crd['spec'] as unknown as {
      versions: { schema: { openAPIV3Schema: SchemaNode } }[]
      names: { kind: string }
    }
    if (spec.versions.length !== 1) return []
    const isUnchanged = (at: number): boolean =>
      !scenario.steps
        .slice(1, at)
        .some((step) => step.request?.method === 'PATCH' && step.request.path.includes('customresourcedefinitions'))
    return scenario.steps.flatMap((step, at) => {
      const { request } = step
      if (request?.method !== 'POST' || request.body?.['kind'] !== spec.names.kind || !isUnchanged(at)) return []
      return [
        { title: `${scenario.name} [${at}]`, schema: structuralSchema(spec.versions[0]!.schema.openAPIV3Schema), step },
      ]
    })
  })
}

interface Outcome {
  readonly object: JsonValue
  readonly warnings: readonly string[]
  readonly errors: readonly FieldError[]
}

function admit(body: JsonObject, schema: TypeSchema): Outcome {
  const { value, pruned } = prune(body, schema)
  const coerced = coerceEmbeddedMetadata(value, schema)
  const object = applySchemaDefaults(coerced.value, schema)
  const errors = [
    ...validateValue(object, schema),
    ...validateEmbedded(object, schema),
    ...validateListTypes(object, schema),
  ]
  return { object, warnings: [...pruned, ...coerced.unknown].map(unknownFieldMessage), errors }
}

/** Returns the error of a body that cannot be decoded. */
function refusal(body: JsonObject, schema: TypeSchema): string {
  try {
    decodeObjectMeta(body['metadata'] ?? null)
    coerceEmbeddedMetadata(body, schema)
    return 'nothing'
  } catch (error) {
    return (error as ObjectMetaError | EmbeddedObjectError).message
  }
}

function warningsOf(step: Step): string[] {
  const values = [step.response.headers['warning'] ?? []].flat()
  return values
    .map((value) => JSON.parse(value.replace('299 - ', '')) as string)
    .filter((text) => text.startsWith('unknown field'))
}

interface Cause {
  readonly field: string
  readonly message: string
}

const sorted = (causes: readonly Cause[]): string[] => causes.map(({ field, message }) => `${field}: ${message}`).sort()

/** Causes of other parts of the server: metadata, CEL, scale. */
function isForeign({ field, message }: Cause): boolean {
  return (
    field.startsWith('metadata') || field.startsWith('.') || message.includes('some validation rules were not checked')
  )
}

describeData('recorded creations of custom resources', { minimum: 130, read: creations }, (cases) => {
  test.each(cases)('$title', ({ title, schema, step }) => {
    const body = step.request!.body!
    if (step.response.status === 400) {
      expect(`Widget in version "v1" cannot be handled as a Widget: ${refusal(body, schema)}`).toBe(
        step.response.body['message'],
      )
      return
    }
    const outcome = admit(body, schema)
    expect(outcome.warnings).toEqual(warningsOf(step))
    const details = step.response.body['details'] as JsonObject | undefined
    const causes = ((details?.['causes'] ?? []) as unknown as Cause[]).filter((cause) => !isForeign(cause))
    const actual = outcome.errors.map((error) => ({ field: error.field, message: fieldErrorBody(error) }))
    const isRuleFailure = title.startsWith('cel/') && actual.length === 0
    if (!isRuleFailure) expect(sorted(actual)).toEqual(sorted(causes))
    if (step.response.status !== 201) return
    const { spec } = outcome.object as { spec?: JsonValue }
    const served = step.response.body['spec']
    if (served !== undefined && stringifyJson(served).includes('<uid')) return
    expect(spec).toEqual(served)
  })
})
