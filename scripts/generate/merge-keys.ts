// Merge keys of the lists of built-in kinds, for the three-way merge of packages: only types on the way to such a list.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { headerOf, noticeOf } from './builtin-tables.ts'
import type { SchemaFacts } from './builtin-tables.ts'
import type { GeneratedFile } from './generated-file.ts'

interface Schema {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-patch-strategy'?: string
}

/** A field: `keys` of its elements, `set` for a list of scalars without order, `type` of the value or element. */
interface Field {
  readonly keys?: readonly string[]
  readonly set?: true
  readonly type?: string
}

/** The module of `capabilities/packages/src/engine/merge3/generated`, from the folder that holds `schemas.json`. */
export function mergeKeyTable(facts: string): GeneratedFile[] {
  const { kinds, schemas, source } = JSON.parse(readFileSync(join(facts, 'schemas.json'), 'utf8')) as SchemaFacts
  const fields = fieldsByType(schemas as Readonly<Record<string, Schema>>)
  const relevant = typesWithKeys(fields)
  const types = Object.fromEntries(
    [...relevant].toSorted().map((type) => [
      shortName(type),
      Object.fromEntries(
        Object.entries(fields.get(type)!)
          .filter(([, field]) => isRelevant(field, relevant))
          .map(([name, { keys, set, type: of }]) => [
            name,
            { keys, set, type: of !== undefined && relevant.has(of) ? shortName(of) : undefined },
          ]),
      ),
    ]),
  )
  const roots = Object.entries(kinds).flatMap(([groupVersion, byKind]) =>
    Object.entries(byKind)
      .filter(([kind, type]) => relevant.has(type) && !kind.endsWith('List'))
      .map(([kind, type]) => [`${groupVersion}/${kind}`, shortName(type)]),
  )
  const json = JSON.stringify({ kinds: Object.fromEntries(roots) as unknown, types })
  return [
    { name: 'NOTICE', text: noticeOf(source, 'merge keys of lists') },
    {
      name: 'merge-keys.ts',
      text: `${headerOf(source)}\n/** JSON: kinds (groupVersion/kind -> type), types (type -> field -> keys, set, type of the value or element). */\nexport const mergeKeys: string = String.raw\`${json}\`\n`,
    },
  ]
}

function fieldsByType(schemas: Readonly<Record<string, Schema>>): Map<string, Record<string, Field>> {
  return new Map(
    Object.entries(schemas).map(([type, { properties = {} }]) => [
      type,
      Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fieldOf(schema)])),
    ]),
  )
}

function fieldOf(schema: Schema): Field {
  const { items } = schema
  if (items === undefined) return { type: refOf(schema) ?? refOf(schema.additionalProperties) }
  const mergeKey = schema['x-kubernetes-patch-merge-key']
  const keys = schema['x-kubernetes-list-map-keys'] ?? (mergeKey === undefined ? undefined : [mergeKey])
  if (keys !== undefined) return { keys, type: refOf(items) }
  const isSet = schema['x-kubernetes-list-type'] === 'set' || schema['x-kubernetes-patch-strategy'] === 'merge'
  return isSet ? { set: true } : {}
}

function refOf(schema: Schema | undefined): string | undefined {
  return schema?.$ref ?? schema?.allOf?.[0]?.$ref
}

/** Returns the types from which a list with keys can be reached. */
function typesWithKeys(fields: ReadonlyMap<string, Record<string, Field>>): Set<string> {
  const found = new Set<string>()
  for (let before = -1; before !== found.size;) {
    before = found.size
    for (const [type, own] of fields) if (Object.values(own).some((field) => isRelevant(field, found))) found.add(type)
  }
  return found
}

function isRelevant({ keys, set, type }: Field, relevant: ReadonlySet<string>): boolean {
  return keys !== undefined || set === true || (type !== undefined && relevant.has(type))
}

function shortName(type: string): string {
  return type.replace(
    /^io\.k8s\.(?:api\.|apimachinery\.pkg\.apis\.|apiextensions-apiserver\.pkg\.apis\.|kube-aggregator\.pkg\.apis\.)?/,
    '',
  )
}
