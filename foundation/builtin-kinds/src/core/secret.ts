// Secrets and ConfigMaps: keys, sizes, types, immutability.
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import {
  configMapKey,
  fieldErrors,
  fieldPath,
  isJsonArray,
  isJsonObject,
  JsonSyntaxError,
  parseJson,
} from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { immutable, invalidWith } from '../checks.ts'
import { ensureAt, fillStrings, flagAt, has, mapAt, stringAt } from '../fields.ts'

/** The maximum size of the values of one Secret or ConfigMap, in bytes. */
const maxDataBytes = 1024 * 1024

/** The strategy of Secrets. `stringData` is merged into `data` when a body is decoded. */
export const secretStrategy: Strategy = {
  applyDefaults(object) {
    const text = mapAt(object, 'stringData')
    if (Object.keys(text).length > 0) {
      const encoded = Object.entries(text).map(([key, value]): [string, string] => [
        key,
        Buffer.from(value).toString('base64'),
      ])
      object['data'] = Object.fromEntries([...Object.entries(ensureAt(object, 'data')), ...encoded])
    }
    delete object['stringData']
    fillStrings(object, { type: 'Opaque' })
  },
  warnings: certificateWarnings,
  validate: secretErrors,
  validateUpdate: (object, old) => [
    ...immutable('type', object['type'] as string, old['type'] as string),
    ...frozenErrors(object, old, ['data']),
    ...secretErrors(object),
  ],
}

/** The strategy of ConfigMaps. */
export const configMapStrategy: Strategy = {
  validate: configMapErrors,
  validateUpdate: (object, old) => [...frozenErrors(object, old, ['data', 'binaryData']), ...configMapErrors(object)],
}

function frozenErrors(object: KubeObject, old: KubeObject, fields: readonly string[]): FieldError[] {
  if (!flagAt(old, 'immutable')) return []
  const errors: FieldError[] = []
  if (!flagAt(object, 'immutable'))
    errors.push(fieldErrors.forbidden('immutable', 'field is immutable when `immutable` is set'))
  for (const field of fields) {
    const changed = immutable(field, object[field] as JsonObject | undefined, old[field] as JsonObject | undefined)
    if (changed.length > 0) errors.push(fieldErrors.forbidden(field, 'field is immutable when `immutable` is set'))
  }
  return errors
}

function configMapErrors(object: KubeObject): FieldError[] {
  const text = mapAt(object, 'data')
  const binary = mapAt(object, 'binaryData')
  const errors: FieldError[] = []
  for (const key of Object.keys(text)) {
    errors.push(...keyErrors('data', key))
    if (Object.hasOwn(binary, key))
      errors.push(fieldErrors.invalid(fieldPath('data', { key }), key, 'duplicate of key present in binaryData'))
  }
  for (const key of Object.keys(binary)) errors.push(...keyErrors('binaryData', key))
  const size = Object.values(text).reduce((sum, value) => sum + Buffer.byteLength(value), 0) + decodedBytes(binary)
  if (size > maxDataBytes) errors.push(fieldErrors.tooLong('[]', maxDataBytes))
  return errors
}

const noErrors: readonly FieldError[] = []

function keyErrors(field: string, key: string): readonly FieldError[] {
  const messages = configMapKey(key)
  return messages.length === 0 ? noErrors : invalidWith(fieldPath(field, { key }), key, messages)
}

function decodedBytes(data: Readonly<Record<string, string>>): number {
  return Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), 0)
}

function secretErrors(object: KubeObject): FieldError[] {
  const data = mapAt(object, 'data')
  const errors = Object.keys(data).flatMap((key) => keyErrors('data', key))
  if (decodedBytes(data) > maxDataBytes) errors.push(fieldErrors.tooLong('data', maxDataBytes))
  return [...errors, ...typeErrors(object, data)]
}

/** Validates the required keys of a well-known type. */
function typeErrors(object: KubeObject, data: Readonly<Record<string, string>>): FieldError[] {
  const required = (...keys: readonly string[]): FieldError[] =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => fieldErrors.required(fieldPath('data', { key })))
  switch (stringAt(object, 'type')) {
    case 'kubernetes.io/service-account-token':
      return stringAt(object, 'metadata', 'annotations', 'kubernetes.io/service-account.name') === ''
        ? [fieldErrors.required('metadata.annotations[kubernetes.io/service-account.name]')]
        : []
    case 'kubernetes.io/dockercfg':
      return dockerConfigErrors(data, '.dockercfg')
    case 'kubernetes.io/dockerconfigjson':
      return dockerConfigErrors(data, '.dockerconfigjson')
    case 'kubernetes.io/basic-auth':
      return has(data, 'username') || has(data, 'password') ? [] : required('username', 'password')
    case 'kubernetes.io/ssh-auth':
      return (data['ssh-privatekey'] ?? '') === '' ? [fieldErrors.required('data[ssh-privatekey]')] : []
    case 'kubernetes.io/tls':
      return required('tls.crt', 'tls.key')
    default:
      return []
  }
}

function dockerConfigErrors(data: Readonly<Record<string, string>>, key: string): FieldError[] {
  const field = fieldPath('data', { key })
  const encoded = data[key]
  if (encoded === undefined) return [fieldErrors.required(field)]
  try {
    const type = typeName(parseJson(Buffer.from(encoded, 'base64')))
    if (type === undefined) return []
    const message = `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`
    return [fieldErrors.invalid(field, '<secret contents redacted>', message)]
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      return [fieldErrors.invalid(field, '<secret contents redacted>', error.message)]
    throw error
  }
}

/** Returns the name of a JSON type as Go's decoder reports it; undefined for objects and null. */
function typeName(value: JsonValue): string | undefined {
  if (value === null || isJsonObject(value)) return undefined
  if (isJsonArray(value)) return 'array'
  return { string: 'string', boolean: 'bool' }[typeof value as string] ?? 'number'
}

/** Returns the warning about a certificate or key that Go's TLS could not load for want of its PEM block. */
function certificateWarnings(object: KubeObject): string[] {
  if (stringAt(object, 'type') !== 'kubernetes.io/tls') return []
  const data = mapAt(object, 'data')
  const certificate = blockTypes(data['tls.crt'] ?? '')
  if (!certificate.includes('CERTIFICATE')) {
    if (certificate.length === 1 && certificate[0]!.endsWith('PRIVATE KEY'))
      return [
        'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
      ]
    return [missingBlock('certificate', '"CERTIFICATE" PEM block', certificate)]
  }
  const key = blockTypes(data['tls.key'] ?? '')
  if (key.some((type) => /(^| )PRIVATE KEY$/.test(type))) return []
  return key.length === 1 && key[0] === 'CERTIFICATE'
    ? ['tls: found a certificate rather than a key in the PEM for the private key']
    : [missingBlock('key', 'PEM block with type ending in "PRIVATE KEY"', key)]
}

function missingBlock(input: string, wanted: string, found: readonly string[]): string {
  return found.length === 0
    ? `tls: failed to find any PEM data in ${input} input`
    : `tls: failed to find ${wanted} in ${input} input after skipping PEM blocks of the following types: [${found.join(' ')}]`
}

function blockTypes(encoded: string): string[] {
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  return [...text.matchAll(/^-----BEGIN ([^-\n]+)-----$/gm)].map(([, type]) => type!)
}
