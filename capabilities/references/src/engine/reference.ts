// A reference as users write it, in any of its spellings (originals/ack.md §1.3), reduced to one form.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { dns1123Label, dns1123Subdomain, isJsonObject, ownValue } from '@fairlead/kube'
import type { Identifier, ReferenceRow, ReferentKind } from './reference-table.ts'

/** A reference in its one form. */
export type Reference =
  | { readonly form: 'object'; readonly kind: ReferentKind; readonly namespace: string; readonly name: string }
  | { readonly form: 'external'; readonly value: string }
  | { readonly form: 'invalid'; readonly message: string }

const spellings = ['name', 'from', 'kubernetesReference', 'external', 'externalIdentifiers'] as const
const identifiers: readonly Identifier[] = ['arn', 'name', 'id']

function invalid(message: string): Reference {
  return { form: 'invalid', message }
}

function isFilled(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

/** Returns a hint for a name that looks like an identifier of the cloud and not like one of an object. */
export function identifierHint(name: string): string {
  return /^arn:|:|\//.test(name) || /^[a-z]+-[0-9a-f]{8,17}$/.test(name)
    ? '; set external to refer to it by its identifier'
    : ''
}

function kindOf(row: ReferenceRow, chosen: JsonValue | undefined): ReferentKind | undefined {
  const kinds = [row, ...(row.kinds ?? [])]
  return chosen === undefined ? row : kinds.find(({ kind }) => kind === chosen)
}

function named(target: JsonObject, row: ReferenceRow, ownNamespace: string): Reference {
  const name = ownValue(target, 'name')
  const namespace = ownValue(target, 'namespace')
  if (!isFilled(name)) return invalid('name must be a non-empty string')
  if (namespace !== undefined && typeof namespace !== 'string') return invalid('namespace must be a string')
  if (dns1123Subdomain(name).length > 0)
    return invalid(`name ${JSON.stringify(name)} is not the name of an object${identifierHint(name)}`)
  if (isFilled(namespace) && dns1123Label(namespace).length > 0)
    return invalid(`namespace ${JSON.stringify(namespace)} is not the name of a namespace`)
  const kind = kindOf(row, ownValue(target, 'kind'))
  if (kind === undefined) {
    const allowed = [row, ...(row.kinds ?? [])].map((one) => one.kind).join(', ')
    return invalid(`kind must be one of ${allowed}`)
  }
  if (kind.group === '' && kind.kind === 'Secret') return invalid('a Secret is never the source of a value')
  if (kind.namespaced === false)
    return isFilled(namespace)
      ? invalid(`namespace must not be set: ${kind.kind} is cluster-scoped`)
      : { form: 'object', kind, namespace: '', name }
  return { form: 'object', kind, namespace: isFilled(namespace) ? namespace : ownNamespace, name }
}

function external(value: JsonValue | undefined, expected: Identifier | undefined): Reference {
  if (!isJsonObject(value)) return invalid('externalIdentifiers must be a map with one of arn, name and id')
  const given = Object.keys(value)
  const [key] = given
  if (given.length !== 1 || !identifiers.includes(key as Identifier))
    return invalid('externalIdentifiers must have exactly one of arn, name and id')
  if (expected !== undefined && key !== expected)
    return invalid(`externalIdentifiers must have ${expected}: the field takes no ${key}`)
  const identifier = ownValue(value, key as string)
  if (!isFilled(identifier)) return invalid(`externalIdentifiers.${key} must be a non-empty string`)
  return { form: 'external', value: identifier }
}

/**
 * Reads one reference. Exactly one of `name`, `from`, `kubernetesReference`, `external` and `externalIdentifiers` must
 * be set, and `namespace` only beside `name`.
 */
export function parseReference(value: JsonValue, row: ReferenceRow, ownNamespace: string): Reference {
  if (!isJsonObject(value)) return invalid('a reference must be a map')
  const given = spellings.filter((key) => (ownValue(value, key) ?? null) !== null)
  if (given.length !== 1)
    return invalid(`exactly one of ${spellings.join(', ')} must be set, got ${given.join(' and ') || 'none'}`)
  const [spelling] = given
  if (spelling !== 'name' && (ownValue(value, 'namespace') ?? null) !== null)
    return invalid('namespace is allowed only beside name')
  if (spelling === 'name') return named(value, row, ownNamespace)
  if (spelling === 'externalIdentifiers') return external(ownValue(value, spelling), row.identifier)
  const target = ownValue(value, spelling as string)
  if (spelling === 'external')
    return isFilled(target) ? { form: 'external', value: target } : invalid('external must be a non-empty string')
  return isJsonObject(target) ? named(target, row, ownNamespace) : invalid(`${spelling} must be a map`)
}
