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
  return Object.fromEntries(
    Object.entries(wire.messages).map(([name, fields]) => [name, ordered(fields, observed.get(name) ?? new Map())]),
  )
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

/** A topological order over the observed pairs that takes the lowest number next wherever it may choose. */
function ordered(fields: readonly ProtobufField[], pairs: ReadonlyMap<string, ReadonlySet<string>>): ProtobufField[] {
  const left = [...fields]
  const out: ProtobufField[] = []
  while (left.length > 0) {
    const free = left.findIndex(
      (field) => !left.some((other) => other !== field && pairs.get(other.name)?.has(field.name) === true),
    )
    out.push(...left.splice(Math.max(free, 0), 1))
  }
  return out
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
