// Requests whose lists, maps and strings grow: one for every few fields of the built-in kinds, generated from their
// types, and of a custom resource.
import { builtinResources, messageOfKind } from '@fairlead/builtin-kinds'
import type { MessageField, MessageType, ResourceDefinition } from '@fairlead/builtin-kinds'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'

/** A place in a kind that can hold any number of values. */
interface GrowingField {
  readonly path: readonly MessageField[]
  /** The type that the last field belongs to. */
  readonly owner: MessageType
}

/** A request in which some fields have a given size. */
export interface GrowingRequest {
  readonly title: string
  readonly method: 'POST' | 'PATCH'
  /** The collection. */
  readonly path: string
  /** The media type. */
  readonly type: string
  /** The fields, for messages. */
  readonly fields: readonly string[]
  /** Returns the body; with the index of a field, only that one grows. */
  body(size: number, only?: number): JsonObject
}

/** More would hide a square of one field behind the linear cost of the others. */
const fieldsOfOneRequest = 4

/** Returns the requests; each field of each type grows in one of them. */
export function growingRequests(): readonly GrowingRequest[] {
  const known = new Set<string>()
  const requests: GrowingRequest[] = []
  // Metadata grows in a kind that stores it; a Binding is turned down before.
  const definitions = builtinResources()
  const first = definitions.filter(({ kind }) => kind === 'ConfigMap')
  for (const definition of new Set([...first, ...definitions])) {
    const version = definition.versions.find(({ verbs }) => verbs.includes('create'))
    if (version === undefined) continue
    const apiVersion = definition.group === '' ? version.name : `${definition.group}/${version.name}`
    const type = messageOfKind(apiVersion, definition.kind)
    if (type === undefined) continue
    const fields = growingFields(type, [], known)
    for (let index = 0; index < fields.length; index += fieldsOfOneRequest)
      requests.push(requestOf(definition, apiVersion, fields.slice(index, index + fieldsOfOneRequest)))
  }
  return requests
}

function requestOf(
  definition: ResourceDefinition,
  apiVersion: string,
  fields: readonly GrowingField[],
): GrowingRequest {
  const names = fields.map(({ path }) => path.map(({ name }) => name).join('.'))
  const { group, plural, kind, namespaced } = definition
  return {
    title: `${kind} ${names[0]} to ${names.at(-1)}`,
    method: 'POST',
    type: 'application/json',
    path: `/${group === '' ? 'api' : 'apis'}/${apiVersion}${namespaced ? '/namespaces/default' : ''}/${plural}`,
    fields: names,
    body(size, only) {
      const body: MutableJsonObject = { apiVersion, kind, metadata: { name: 'growing' } }
      for (const [index, { path }] of fields.entries())
        grow(body, path, only === undefined || only === index ? size : 1)
      return body
    },
  }
}

/** Returns the lists, maps and strings of a type and of all below it that no other request has. */
function growingFields(type: MessageType, path: readonly MessageField[], known: Set<string>): GrowingField[] {
  const found: GrowingField[] = []
  for (const field of type.byJsonName.values()) {
    const id = `${type.name}.${field.name}`
    if (known.has(id) || skipped.has(field.name)) continue
    known.add(id)
    const whole = [...path, field]
    const isString = field.type === 'string' || field.message?.special === 'quantity'
    if (field.repeated || field.map || isString) found.push({ path: whole, owner: type })
    const { message } = field
    if (message !== undefined && message.special === undefined) found.push(...growingFields(message, whole, known))
  }
  return found
}

/** Fields that clients do not set, and those that name another object, without which nothing else is looked at. */
const skipped: ReadonlySet<string> = new Set([
  '-',
  'managedFields',
  'namespace',
  'priorityClassName',
  'runtimeClassName',
  'status',
])

/** Sets the value at a path to one of the given size; the lists and maps above have one value. */
function grow(root: MutableJsonObject, path: readonly MessageField[], size: number): void {
  let owner = root
  for (const field of path.slice(0, -1)) {
    const below = (owner[field.name] ??= field.repeated ? [item(field, 0)] : field.map ? { k0: item(field, 0) } : {})
    owner = (
      field.repeated ? (below as JsonValue[])[0] : field.map ? (below as JsonObject)['k0'] : below
    ) as MutableJsonObject
  }
  const field = path.at(-1)!
  const numbers = Array.from({ length: size }, (_, index) => index)
  if (field.repeated) owner[field.name] = numbers.map((index) => item(field, index))
  else if (field.map) owner[field.name] = Object.fromEntries(numbers.map((index) => [`k${index}`, item(field, index)]))
  // Names stay as they are.
  else owner[field.name] ??= (field.message === undefined ? 'x' : '1').repeat(size)
}

/** Returns the value of a list or map. */
function item(field: MessageField, index: number): JsonValue {
  const { message } = field
  if (message === undefined) return scalar(field, index)
  switch (message.special) {
    case undefined: {
      const out: MutableJsonObject = {}
      for (const [name, child] of message.byJsonName)
        if (identifying.has(name) && !child.repeated && !child.map && child.message === undefined)
          out[name] = scalar(child, index)
      return out
    }
    case 'quantity':
      return String(index + 1)
    case 'strings':
      return [`v${index}`]
    default:
      return `v${index}`
  }
}

/** Fields that tell items apart or that most of them need. */
const identifying: ReadonlySet<string> = new Set([
  'apiVersion',
  'containerPort',
  'devicePath',
  'hostname',
  'image',
  'ip',
  'key',
  'kind',
  'mountPath',
  'name',
  'path',
  'port',
  'topologyKey',
  'type',
  'uid',
  'value',
])

function scalar({ type, name }: MessageField, index: number): JsonValue {
  if (type === 'bool') return true
  if (type === 'string') return name === 'mountPath' || name === 'devicePath' ? `/v${index}` : `v${index}`
  return type === 'bytes' ? 'eA==' : index + 1
}

const apiVersion = 'growth.example.com/v1'
const listOf = (items: object, more: object = {}): object => ({ type: 'array', items, ...more })
const strings = { type: 'string' }
const entry = {
  type: 'object',
  required: ['name'],
  properties: { name: strings, on: { type: 'boolean', default: true } },
}

/** The fields of the custom resource, and their values. */
const customFields: readonly (readonly [name: string, schema: object, value: (size: number) => JsonValue])[] = [
  ['text', { ...strings, maxLength: 100_000, pattern: '^(x+)*$' }, (size) => 'x'.repeat(size)],
  ['list', listOf(strings), (size) => many(size)],
  ['unique', listOf(strings, { 'x-kubernetes-list-type': 'set' }), (size) => many(size)],
  [
    'entries',
    listOf(entry, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
    (size) => many(size).map((name) => ({ name })),
  ],
  ['atomic', listOf(entry, { 'x-kubernetes-list-type': 'atomic' }), (size) => many(size).map((name) => ({ name }))],
  [
    'map',
    { type: 'object', additionalProperties: strings },
    (size) => Object.fromEntries(many(size).map((name) => [name, 'v'])),
  ],
  [
    'ruled',
    listOf(
      {
        type: 'object',
        properties: { size: { type: 'integer' } },
        'x-kubernetes-validations': [{ rule: 'self.size >= 0' }],
      },
      { maxItems: 1000 },
    ),
    (size) => many(size).map((_, index) => ({ size: index - 10 })),
  ],
  ['chosen', listOf({ type: 'string', enum: ['a', 'b'] }), (size) => many(size)],
  [
    'free',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    (size) => ({ list: many(size), map: Object.fromEntries(many(size).map((name) => [name, [name]])) }),
  ],
  ['unknown', { type: 'object' }, (size) => Object.fromEntries(many(size).map((name) => [name, 1]))],
]

function many(size: number): string[] {
  return Array.from({ length: size }, (_, index) => `v${index}`)
}

/** The definition of the custom resource. */
export const customDefinition: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.growth.example.com' },
  spec: {
    group: 'growth.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: Object.fromEntries(customFields.map(([name, schema]) => [name, schema as JsonObject])),
              },
            },
          },
        },
      },
    ],
  },
}

/** Returns a creation and an apply of the custom resource for each of its fields. */
export function customRequests(): readonly GrowingRequest[] {
  return customFields.flatMap(([field, , value]) =>
    (['POST', 'PATCH'] as const).map((method) => ({
      title: `${method === 'POST' ? 'creation' : 'apply'} of a custom resource, ${field}`,
      method,
      path: `/apis/${apiVersion}/namespaces/default/things`,
      type: method === 'POST' ? 'application/json' : 'application/apply-patch+yaml',
      fields: [field],
      body: (size) => ({ apiVersion, kind: 'Thing', metadata: { name: 'growing' }, spec: { [field]: value(size) } }),
    })),
  )
}
