// Every recorded creation of a built-in kind, through decoding, defaults, preparation and validation, without a server.
import { readdirSync } from 'node:fs'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { fieldErrorBody } from '@fairlead/kube'
import { builtinResources } from '@fairlead/builtin-kinds'
import { expect, test } from 'vitest'
import { dataPath, describeData, readData } from '../../../test/support/conformance-data.ts'

interface Creation {
  readonly title: string
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly body: JsonObject
  readonly status: number
  readonly answer: JsonObject
}

interface Step {
  readonly kind: string
  readonly looseText?: boolean
  readonly request: {
    readonly method: string
    readonly path: string
    readonly body?: JsonValue
    readonly as?: string
    readonly headers?: JsonObject
  }
  readonly until?: JsonObject
  readonly response: { readonly status: number; readonly body?: JsonObject }
}

/** Areas whose responses depend on more than the object: admission policies, CEL rules of CRDs, other objects. */
const beyondTheKind = new Set(['admission.json', 'auth.json', 'cel.json'])
const uid = '5f0c5f0c-0000-4000-8000-000000000000'

function creations(): Creation[] {
  const files = readdirSync(dataPath('kubernetes', 'recordings')).filter((file) => !beyondTheKind.has(file))
  return files.flatMap((file) => {
    const text = readData('kubernetes', 'recordings', file)
      .replaceAll('{{id}}', 'bcdfghj2')
      .replaceAll('{{ns}}', 'ns-bcdfghj2')
    const scenarios = JSON.parse(text.replaceAll(/<uid-\d+>|\{\{steps\[\d+\]\.body\.metadata\.uid\}\}/g, uid)) as {
      name: string
      steps: Step[]
    }[]
    return scenarios.flatMap(({ name, steps }) =>
      steps.flatMap((step, index) => creationOf(`${name} step ${index}`, step) ?? []),
    )
  })
}

function creationOf(title: string, { kind, request, response, until }: Step): Creation | undefined {
  if (kind !== 'http' || request.method !== 'POST' || request.as !== undefined || until !== undefined) return undefined
  const path = /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\?dryRun=All)?$/.exec(
    request.path,
  )
  const { body } = request
  const isTransformed = String(request.headers?.['Accept'] ?? '').includes('as=')
  if (
    path === null ||
    isTransformed ||
    typeof body !== 'object' ||
    body === null ||
    Array.isArray(body) ||
    response.body === undefined
  )
    return undefined
  if (![201, 422].includes(response.status) || !('kind' in body)) return undefined
  return {
    title,
    group: path[1] ?? '',
    version: path[2] ?? '',
    plural: path[3] ?? '',
    body: body as JsonObject,
    status: response.status,
    answer: response.body,
  }
}

/** Adds the metadata that the handlers of the API server set. */
const systemFields = ['creationTimestamp', 'generation', 'managedFields', 'namespace', 'resourceVersion', 'uid']

function comparable(object: JsonObject): JsonObject {
  const metadata = Object.fromEntries(
    Object.entries(object['metadata'] as JsonObject).filter(([field]) => !systemFields.includes(field)),
  )
  return JSON.parse(JSON.stringify({ ...object, metadata })) as JsonObject
}

const creationsOfBuiltInKinds = () =>
  creations().flatMap((creation) => {
    const definition = builtinResources().find(
      ({ group, plural }) => group === creation.group && plural === creation.plural,
    )
    const version = definition?.versions.find(({ name }) => name === creation.version)
    if (definition === undefined || version?.decode === undefined) return []
    // Request options are validated elsewhere.
    const details = creation.answer['details'] as { kind?: string } | undefined
    return creation.status === 422 && details?.kind !== definition.kind
      ? []
      : [{ ...creation, definition, decode: version.decode }]
  })

describeData('recorded creations of built-in kinds', { minimum: 280, read: creationsOfBuiltInKinds }, (cases) => {
  test.each(cases.map((creation) => [creation.title, creation] as const))(
    '%s',
    async (_title, { definition, decode, body, status, answer }) => {
      const { strategy } = definition
      const object = decode(body).object as { metadata: Record<string, JsonValue> } & Record<string, JsonValue>
      object.metadata ??= {}
      strategy.applyDefaults?.(object)
      object.metadata['uid'] = uid
      if (definition.namespaced) object.metadata['namespace'] = 'ns-bcdfghj2'
      const context = {
        user: { name: 'admin', groups: [] },
        now: 0,
        apiVersion: String(object['apiVersion']),
        dryRun: true,
        subresource: '',
        newUid: () => uid,
        read: () => undefined,
      }
      strategy.admit?.(object, undefined, context)
      strategy.prepareForCreate?.(object, context)
      const errors = (await strategy.validate?.(object as unknown as KubeObject, context)) ?? []
      if (status === 201) {
        expect(errors).toEqual([])
        expect(comparable(object)).toEqual(comparable(answer))
      } else {
        const details = answer['details'] as { causes?: { field: string }[] } | undefined
        // Names and metadata are validated by the handlers, CEL rules elsewhere.
        const causes = (details?.causes ?? []).filter(
          ({ field }) => !field.startsWith('metadata.') || field.includes('annotations['),
        )
        const own = causes.filter(({ field }) => !field.includes('x-kubernetes-validations'))
        expect(
          errors.map((error) => ({ reason: error.type, message: fieldErrorBody(error), field: error.field })),
        ).toEqual(own)
      }
    },
  )
})
