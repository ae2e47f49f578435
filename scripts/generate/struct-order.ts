// The order in which Go's structs list their fields, which the server's JSON shows and protobuf's numbers do not always
// follow. It is read off recorded answers: where two fields were seen side by side, that order holds; fields never seen
// keep the order of their numbers.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProtobufFacts, ProtobufField } from './builtin-tables.ts'

type Json = Readonly<Record<string, unknown>>

/** Message -> pairs [earlier, later] of field names, as answers showed them. */
type Observed = Map<string, Map<string, Set<string>>>

/**
 * The messages with their fields in struct order. `facts` is the folder that holds the recordings and
 * protobuf-goldens.json.
 */
export function inStructOrder(wire: ProtobufFacts, facts: string): Readonly<Record<string, readonly ProtobufField[]>> {
  const observed: Observed = new Map()
  for (const object of recordedObjects(facts)) {
    const group = wire.packages[String(object['apiVersion'])]
    if (group !== undefined) observe(`${group}.${String(object['kind'])}`, object, wire, observed)
  }
  const shared = pairsOfTwins(wire, observed)
  return Object.fromEntries(
    Object.entries(wire.messages).map(([name, fields]) => [name, ordered(fields, shared.get(twinKey(fields)) ?? [])]),
  )
}

/**
 * The observed pairs of all messages with the same fields: Container and EphemeralContainerCommon are the same struct.
 */
function pairsOfTwins(
  wire: ProtobufFacts,
  observed: Observed,
): Map<string, ReadonlyMap<string, ReadonlySet<string>>[]> {
  const twins = new Map<string, ReadonlyMap<string, ReadonlySet<string>>[]>()
  for (const [name, pairs] of observed) {
    const key = twinKey(wire.messages[name] ?? [])
    twins.set(key, [...(twins.get(key) ?? []), pairs])
  }
  return twins
}

function twinKey(fields: readonly ProtobufField[]): string {
  return fields.map(({ name, number }) => `${number} ${name}`).join()
}

function* recordedObjects(facts: string): Generator<Json> {
  const goldens = JSON.parse(readFileSync(join(facts, 'protobuf-goldens.json'), 'utf8')) as { json: unknown }[]
  for (const { json } of goldens) if (isObject(json)) yield json
  for (const file of readdirSync(join(facts, 'recordings')).toSorted()) {
    const scenarios = JSON.parse(readFileSync(join(facts, 'recordings', file), 'utf8')) as {
      steps: { response?: { body?: unknown } }[]
    }[]
    for (const { steps } of scenarios)
      for (const { response } of steps) if (isObject(response?.body)) yield response.body
  }
}

function observe(message: string, value: unknown, wire: ProtobufFacts, observed: Observed): void {
  const fields = wire.messages[message]
  if (fields === undefined || !isObject(value)) return
  const owners = new Map(fields.flatMap((field) => jsonNames(field, wire).map((name) => [name, field] as const)))
  const seen = Object.keys(value).filter((name) => owners.has(name))
  const pairs = observed.get(message) ?? new Map<string, Set<string>>()
  observed.set(message, pairs)
  for (const [index, name] of seen.entries()) {
    const [field, next] = [owners.get(name), owners.get(seen[index + 1] ?? '')]
    if (field === undefined) continue
    if (next !== undefined && next !== field) pairs.set(field.name, (pairs.get(field.name) ?? new Set()).add(next.name))
    const type = field.inline === true ? undefined : (field.type ?? field.map?.value)
    const child = value[name]
    if (type === undefined) continue
    const children = Array.isArray(child)
      ? (child as unknown[])
      : field.map !== undefined && isObject(child)
        ? Object.values(child)
        : [child]
    for (const item of children) observe(type, item, wire, observed)
  }
  for (const field of fields)
    if (field.inline === true && field.type !== undefined) observe(field.type, value, wire, observed)
}

function jsonNames(field: ProtobufField, wire: ProtobufFacts): string[] {
  if (field.inline !== true) return [field.json ?? field.name]
  return (wire.messages[field.type ?? ''] ?? []).flatMap((inner) => jsonNames(inner, wire))
}

/** The fields by number, each behind those that were seen before it. */
function ordered(
  fields: readonly ProtobufField[],
  observed: readonly ReadonlyMap<string, ReadonlySet<string>>[],
): ProtobufField[] {
  const out = new Set<ProtobufField>()
  const visiting = new Set<ProtobufField>()
  const visit = (field: ProtobufField): void => {
    if (visiting.has(field)) return
    visiting.add(field)
    for (const other of fields)
      if (observed.some((pairs) => pairs.get(other.name)?.has(field.name) === true)) visit(other)
    out.add(field)
  }
  for (const field of fields) visit(field)
  return [...out]
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
