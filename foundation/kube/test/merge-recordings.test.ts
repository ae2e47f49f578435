// Ownership after every recorded write: the object before, the request and the object of the response must give the
// recorded managedFields, and rejected applies the recorded Status.
import { expect, test } from 'vitest'
import {
  applyMergePatch,
  applyServerSide,
  asJson,
  asObject,
  cloneJson,
  fieldManagerOf,
  isJsonObject,
  parseJson,
  parseYaml,
  resetFieldsOf,
  StatusError,
  stringifyJson,
  structuralSchema,
  trackUpdate,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, SchemaNode, TypeSchema } from '@fairlead/kube'
import { describeData, recordings } from '../../../test/support/conformance-data.ts'
import type { RecordedStep } from '../../../test/support/conformance-data.ts'
import { builtInSchema } from './support/built-in-schema.ts'

const areas = ['admission', 'apply', 'auth', 'cel', 'crd', 'crud', 'list', 'patch', 'table', 'validation', 'watch']

/** Fields of new objects that the server sets or changes after it has determined ownership. */
const filledLater: Readonly<Record<string, readonly (readonly string[])[]>> = {
  Pod: [
    ['spec', 'preemptionPolicy'],
    ['spec', 'priority'],
    ['spec', 'tolerations'],
  ],
  Service: [
    ['spec', 'clusterIP'],
    ['spec', 'clusterIPs'],
    ['spec', 'ipFamilies'],
    ['spec', 'ipFamilyPolicy'],
  ],
  Job: [
    ['metadata', 'labels'],
    ['spec', 'selector'],
    ['spec', 'template', 'metadata'],
  ],
  Namespace: [['spec']],
  Role: [['rules']],
  ClusterRole: [['rules']],
}

/** Requests whose changes the server recorded as owned and then reverted, so that the response does not show them. */
const takenBack = ['crd/status-subresource 9', 'validation/lease 8', 'validation/namespace-protected 4']

/** Applies to a scale that this test has not read. */
const unseen = ['apply/scale-subresource 2']

const skipped = new Set([...takenBack, ...unseen])

interface Case {
  readonly name: string
  readonly expected: unknown
  readonly run: () => KubeObject
}

/** Tracks the objects of one scenario through its responses. */
class Scenario {
  readonly cases: Case[] = []
  readonly #name: string
  readonly #live = new Map<string, KubeObject>()
  readonly #custom = new Map<string, { schema: TypeSchema; hasStatus: boolean }>()

  constructor(name: string) {
    this.#name = name
  }

  play(step: RecordedStep, index: number): void {
    if (step.request === undefined || step.response === undefined) return
    const { request, response } = step
    const { pathname, searchParams } = new URL(request.path, 'http://server')
    const subresource = /\/(status|scale|token|finalize)$/.exec(pathname)?.[1] ?? ''
    const body = response.body
    const answered = isJsonObject(body?.metadata) && 'uid' in body.metadata ? asObject(body as JsonObject) : undefined
    const path = subresource === '' ? pathname : pathname.slice(0, -subresource.length - 1)
    const key = request.method === 'POST' ? `${path}/${answered?.metadata.name}` : path
    const live = this.#live.get(key)
    if (request.method === 'DELETE') {
      this.#live.delete(key)
      return
    }
    if (answered?.kind === 'CustomResourceDefinition') this.#register(answered)
    const manager = fieldManagerOf(searchParams.get('fieldManager') ?? undefined, request.headers?.['User-Agent'])
    const common = { live, manager, subresource, now: '2026-01-01T00:00:00Z' }
    const name = `${this.#name} ${index}: ${request.method} ${pathname}`
    const isApply = request.headers?.['Content-Type']?.startsWith('application/apply-patch+yaml') === true
    const force = searchParams.get('force') === 'true'
    if (['scale', 'token', 'finalize'].includes(subresource) || skipped.has(`${this.#name} ${index}`)) {
      // another object than the one at the path, or an unknown one
    } else if (isApply && manager !== '') {
      const applied = (request.body ?? parseYaml(request.rawBody ?? '')) as JsonObject
      const expected = answered ?? (response.status === 409 || response.status === 500 ? body : undefined)
      if (expected !== undefined) {
        const resource = this.#resource(asObject(applied).kind, subresource)
        this.cases.push({
          name,
          expected,
          run: () => applyServerSide({ ...common, ...resource, applied: asObject(applied), force }),
        })
      }
    } else if (
      answered !== undefined &&
      isWrite(request.method) &&
      answered.kind !== 'PartialObjectMetadata' &&
      (live !== undefined || request.method === 'POST')
    ) {
      const updated =
        request.method === 'POST' ? requested(answered, request.body) : requested(answered, request.body, [])
      const resource = this.#resource(answered.kind, subresource)
      this.cases.push({ name, expected: answered, run: () => trackUpdate({ ...common, ...resource, updated }) })
    }
    if (answered === undefined || searchParams.has('dryRun')) return
    // concurrent changes are not visible here
    if (
      subresource === 'scale' ||
      answered.metadata.deletionTimestamp !== undefined ||
      answered.kind === 'CustomResourceDefinition'
    )
      this.#live.delete(key)
    else this.#live.set(key, answered)
  }

  #register(crd: KubeObject): void {
    const spec = crd.spec as {
      group: string
      names: { kind: string }
      versions: { name: string; schema?: { openAPIV3Schema?: SchemaNode }; subresources?: object }[]
    }
    for (const { name, schema, subresources } of spec.versions) {
      const root = schema?.openAPIV3Schema
      if (root !== undefined) {
        this.#custom.set(`${spec.group}/${name} ${spec.names.kind}`, {
          schema: structuralSchema(root),
          hasStatus: subresources !== undefined && 'status' in subresources,
        })
      }
    }
  }

  #resource(
    kind: string,
    subresource: string,
  ): { resetFields: readonly (readonly string[])[]; schemaFor: (apiVersion: string) => TypeSchema | undefined } {
    const custom = [...this.#custom].find(([key]) => key.endsWith(` ${kind}`))?.[1]
    return {
      resetFields: resetFieldsOf(subresource, custom?.hasStatus ?? true),
      schemaFor: (apiVersion) => this.#custom.get(`${apiVersion} ${kind}`)?.schema ?? builtInSchema(apiVersion, kind),
    }
  }
}

function isWrite(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

/** Returns the object as requested: the response without the fields that the server set. */
function requested(
  answered: KubeObject,
  body: JsonValue | undefined,
  filled = filledLater[answered.kind] ?? [],
): KubeObject {
  const { managedFields: _, ...metadata } = answered.metadata
  const paths = [...filled, ['metadata', 'managedFields']].filter((path) => isJsonObject(body) && has(body, path))
  let updated: JsonObject = { ...asJson(answered), metadata: metadata as JsonObject }
  for (const path of filled) updated = without(updated, path)
  for (const path of paths) updated = applyMergePatch(updated, only(body as JsonObject, path)) as JsonObject
  return asObject(updated)
}

function has(object: JsonObject, [first, ...rest]: readonly string[]): boolean {
  const member = object[first!]
  return rest.length === 0 ? member !== undefined : isJsonObject(member) && has(member, rest)
}

function only(object: JsonObject, [first, ...rest]: readonly string[]): JsonObject {
  const member = object[first!]!
  return { [first!]: rest.length === 0 ? member : only(member as JsonObject, rest) }
}

function without(object: JsonObject, [first, ...rest]: readonly string[]): JsonObject {
  const { [first!]: member, ...others } = object
  return rest.length === 0 || !isJsonObject(member) ? others : { ...others, [first!]: without(member, rest) }
}

/** Normalizes managers (sorted, times replaced by a placeholder) and the causes of a Status (sorted). */
function comparable(value: unknown): unknown {
  const object = value as KubeObject
  if (object.kind === 'Status') {
    const status = cloneJson(asJson(object)) as { details?: { causes?: { field: string; message: string }[] } }
    status.details?.causes?.sort((a, b) => (a.field + a.message < b.field + b.message ? -1 : 1))
    return status
  }
  const managers = (object.metadata.managedFields ?? []).map(({ time, ...entry }) => ({
    ...entry,
    isTimed: time !== undefined,
  }))
  const id = ({ manager, operation, apiVersion, subresource }: (typeof managers)[number]) =>
    stringifyJson([manager, operation, apiVersion, subresource ?? ''])
  return managers.toSorted((a, b) => (id(a) < id(b) ? -1 : 1))
}

function outcome(run: () => KubeObject): unknown {
  try {
    return comparable(run())
  } catch (error) {
    if (error instanceof StatusError) return comparable(parseJson(stringifyJson(error.status)))
    throw error
  }
}

/** Placeholders in managers' keys would be escaped as HTML. */
function withoutBrackets(step: RecordedStep): RecordedStep {
  return parseJson(stringifyJson(step).replaceAll(/<(uid-\d+)>/g, '$1')) as unknown as RecordedStep
}

const recordedWrites = () =>
  areas.flatMap(recordings).flatMap(({ name, steps }) => {
    const scenario = new Scenario(name)
    for (const [index, step] of steps.entries()) scenario.play(withoutBrackets(step), index)
    return scenario.cases
  })

describeData('managed fields after each recorded write', { minimum: 440, read: recordedWrites }, (cases) => {
  test.each(cases)('$name', ({ run, expected }) => {
    expect(outcome(run)).toEqual(comparable(expected))
  })
})
