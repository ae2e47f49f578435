// The field table: every built-in type with its fields, their numbers and their JSON names. The protobuf codec and the
// decoder of JSON bodies (typed-form.ts) use it.
import { messages as messageTable, packages as packageTable } from '../generated/protobuf.ts'

/** The scalars of proto2 that Kubernetes uses. */
export type ScalarType = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'double'

/** One field of a message. */
export interface MessageField {
  readonly number: number
  /** The JSON name; `-` for fields that JSON omits. */
  readonly name: string
  /** A scalar, or the full name of a message; of the values with `map`. */
  readonly type: string
  /** The message that `type` names; undefined for scalars. Resolved lazily, because types are recursive. */
  readonly message: MessageType | undefined
  /** A map from strings to `type`. */
  readonly map: boolean
  readonly repeated: boolean
  /** The message's fields are inlined into the parent's JSON object. */
  readonly inline: boolean
  /** A pointer: absence differs from the zero value. */
  readonly pointer: boolean
  readonly omitempty: boolean
  /** A zero struct is omitted. */
  readonly omitzero: boolean
}

/** Types with a JSON form of their own. */
export type SpecialForm =
  | 'quantity'
  | 'intOrString'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'raw'
  | 'json'
  | 'schemaOrBool'
  | 'schemaOrArray'
  | 'schemaOrStrings'
  | 'strings'

/** A message. */
export interface MessageType {
  /** `k8s.io.api.core.v1.Pod`. */
  readonly name: string
  /** The fields in the order of Go's struct and of its JSON. */
  readonly fields: readonly MessageField[]
  /** The fields in the order of their numbers. */
  readonly wireFields: readonly MessageField[]
  /** Fields by JSON name, those of inline messages included. */
  readonly byJsonName: ReadonlyMap<string, MessageField>
  /** The positions of the JSON names in Go's struct. */
  readonly positions: ReadonlyMap<string, number>
  readonly byNumber: ReadonlyMap<number, MessageField>
  readonly special: SpecialForm | undefined
}

/** A field in the table; see `messages` for the flags. */
export type FieldRow = readonly [number: number, name: string, type: string, flags: string]

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const extensions = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1'

const specialForms: Readonly<Record<string, SpecialForm>> = {
  'k8s.io.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': 'intOrString',
  [`${meta}.Time`]: 'time',
  [`${meta}.MicroTime`]: 'microTime',
  [`${meta}.Duration`]: 'duration',
  [`${meta}.FieldsV1`]: 'raw',
  [`${meta}.Verbs`]: 'strings',
  'k8s.io.apimachinery.pkg.runtime.RawExtension': 'raw',
  [`${extensions}.JSON`]: 'json',
  [`${extensions}.JSONSchemaPropsOrBool`]: 'schemaOrBool',
  [`${extensions}.JSONSchemaPropsOrArray`]: 'schemaOrArray',
  [`${extensions}.JSONSchemaPropsOrStringArray`]: 'schemaOrStrings',
  'k8s.io.api.authentication.v1.ExtraValue': 'strings',
  'k8s.io.api.authorization.v1.ExtraValue': 'strings',
  'k8s.io.api.certificates.v1.ExtraValue': 'strings',
}

const scalars: ReadonlySet<string> = new Set<ScalarType>(['string', 'bytes', 'bool', 'int32', 'int64', 'double'])

let rows: Readonly<Record<string, readonly FieldRow[]>> | undefined
let packages: Readonly<Record<string, string>> | undefined
const types = new Map<string, MessageType>()

/** Returns the message of a full name. @throws when there is none: names come from the table or from constants. */
export function messageType(name: string): MessageType {
  const known = types.get(name)
  if (known !== undefined) return known
  rows ??= JSON.parse(messageTable) as Record<string, FieldRow[]>
  const fields = rows[name]
  if (fields === undefined) throw new Error(`there is no protobuf message ${name}`)
  const type = buildType(name, fields)
  types.set(name, type)
  return type
}

/** Adds a message that the table lacks, because only JSON carries it, and returns it. */
export function declareMessage(name: string, fields: readonly FieldRow[]): MessageType {
  const type = buildType(name, fields)
  types.set(name, type)
  return type
}

const kinds = new Map<string, MessageType>()

/** Returns the message of a built-in kind; undefined for kinds without one (custom resources, Table). */
export function messageOfKind(apiVersion: string, kind: string): MessageType | undefined {
  const key = `${apiVersion}/${kind}`
  const known = kinds.get(key)
  if (known !== undefined) return known
  const found = findMessage(apiVersion, kind)
  if (found !== undefined) kinds.set(key, found)
  return found
}

function findMessage(apiVersion: string, kind: string): MessageType | undefined {
  packages ??= JSON.parse(packageTable) as Record<string, string>
  rows ??= JSON.parse(messageTable) as Record<string, FieldRow[]>
  for (const proto of [
    Object.hasOwn(packages, apiVersion) ? packages[apiVersion] : undefined,
    apiVersion === 'v1' ? meta : undefined,
  ]) {
    const name = `${proto}.${kind}`
    if (Object.hasOwn(rows, name)) return messageType(name)
  }
  return undefined
}

function buildType(name: string, rows: readonly FieldRow[]): MessageType {
  const fields = rows.map(buildField)
  const byJsonName = new Map(
    fields.flatMap((field) => (field.inline ? [...(field.message?.byJsonName ?? [])] : [[field.name, field] as const])),
  )
  return {
    name,
    fields,
    wireFields: fields.toSorted((a, b) => a.number - b.number),
    byJsonName,
    positions: new Map([...byJsonName.keys()].map((field, index) => [field, index])),
    byNumber: new Map(fields.map((field) => [field.number, field])),
    special: Object.hasOwn(specialForms, name) ? specialForms[name] : undefined,
  }
}

function buildField([number, name, shape, flags]: FieldRow): MessageField {
  const map = shape.startsWith('map<')
  const type = map ? shape.slice(4, -1) : shape
  return {
    number,
    name,
    type,
    get message() {
      return scalars.has(type) ? undefined : messageType(type)
    },
    map,
    repeated: flags.includes('r'),
    inline: flags.includes('i'),
    pointer: flags.includes('p'),
    omitempty: flags.includes('o'),
    omitzero: flags.includes('z'),
  }
}
