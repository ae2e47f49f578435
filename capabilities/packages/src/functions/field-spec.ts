// Field specs: paths of fields in kinds of resources, as kustomize writes them (`spec/template/metadata/labels`).
import { YAMLMap, isMap, isSeq } from 'yaml'
import type { Node } from 'yaml'
import { isNull, mapsAt, pairOf, setNode, textAt } from '../engine/render/fields.ts'
import type { Resource } from '../engine/render/resource.ts'

/** One field of some kinds; a part of the type left out matches all. */
export interface FieldSpec {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly path: string
  /** Creates the field, and maps on the way, where they are missing. */
  readonly create?: boolean
}

/** Reads a list of field specs from a function config. */
export function fieldSpecsAt(config: YAMLMap, key: string): FieldSpec[] {
  return mapsAt(config, key).map((spec) => ({
    group: textAt(spec, 'group') ?? '',
    version: textAt(spec, 'version') ?? '',
    kind: textAt(spec, 'kind') ?? '',
    path: textAt(spec, 'path') ?? '',
    create: textAt(spec, 'create') === 'true',
  }))
}

/** A field found by a spec. */
export interface FoundField {
  readonly node: Node
  /** Keys from the root of the resource. */
  readonly path: readonly string[]
}

/** Finds the fields of a resource that a spec names; lists on the way are searched through. */
export function findFields(resource: Resource, spec: FieldSpec): FoundField[] {
  if (!matchesType(resource, spec)) return []
  const keys = spec.path.split(/(?<!\\)\//).map((key) => key.replaceAll(String.raw`\/`, '/'))
  return find(resource.fields, keys[0] === '' ? keys.slice(1) : keys, [], spec.create === true)
}

/** Reports whether a resource is of the type that a spec names. */
export function matchesType(
  resource: Resource,
  { group = '', version = '', kind = '' }: Omit<FieldSpec, 'path'>,
): boolean {
  return (
    (kind === '' || kind === resource.kind) &&
    (group === '' || group === resource.group) &&
    (version === '' || version === resource.version)
  )
}

function find(node: Node, keys: readonly string[], path: readonly string[], isCreated: boolean): FoundField[] {
  const [first, ...rest] = keys
  if (first === undefined) return [{ node, path }]
  if (isSeq(node)) return (node.items as Node[]).flatMap((item) => find(item, keys, path, isCreated))
  if (!isMap(node)) return []
  const isList = first.endsWith('[]')
  const key = isList ? first.slice(0, -2) : first
  const pair = pairOf(node, key)
  const value = pair?.value ?? undefined
  if (value !== undefined && !isNull(value)) return find(value, rest, [...path, key], isCreated)
  if (!isCreated || isList) return []
  const created = new YAMLMap()
  setNode(node, key, created)
  return find(created, rest, [...path, key], isCreated)
}
