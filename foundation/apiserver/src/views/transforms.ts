// Transformations that a client may request: Tables for kubectl, PartialObjectMetadata for clients that need only
// metadata.
import { asJson, badRequest, goQuote, notAcceptable } from '@fairlead/kube'
import { templateGeneration } from '@fairlead/builtin-kinds'
import type { JsonObject, JsonValue, KubeObject, ObjectMeta } from '@fairlead/kube'
import type { Encoding, Transform } from '../http/media-type.ts'
import type { ServedResource } from '../registry/registry.ts'
import type { ResourceDefinition, TablePrinter, VersionDefinition } from '@fairlead/builtin-kinds'

const metaVersions: ReadonlySet<string> = new Set(['v1', 'v1beta1'])
const metadataKinds: ReadonlySet<string> = new Set(['PartialObjectMetadata', 'PartialObjectMetadataList'])

/** Returns true for a transformation that exists in an encoding. Tables have no protobuf form. */
export function allowsTransform(transform: Transform, encoding: Encoding): boolean {
  if (transform.group !== 'meta.k8s.io' || !metaVersions.has(transform.version)) return false
  return metadataKinds.has(transform.kind) || (transform.kind === 'Table' && encoding !== 'protobuf')
}

/** `includeObject`: the object in a row, beside its cells. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** @throws StatusError 400 */
export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? ''
  if (value === '') return 'Metadata'
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value
  const detail = `includeObject: Invalid value: ${goQuote(value)}: must be 'Metadata', 'Object', 'None', or empty`
  throw badRequest(`Unable to convert to Table as requested: ${detail}`)
}

/** Returns type and metadata of an object. */
export function partialMetadata(object: KubeObject, version: string): KubeObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: unconvertedMetadata(object) }
}

/** Returns the metadata before the conversion to a version, which adds an annotation to DaemonSets. */
function unconvertedMetadata({ apiVersion, kind, metadata }: KubeObject): ObjectMeta {
  if (kind !== 'DaemonSet' || apiVersion !== 'apps/v1' || metadata.annotations === undefined) return metadata
  const { [templateGeneration]: _converted, ...annotations } = metadata.annotations
  const { annotations: _all, ...rest } = metadata
  return Object.keys(annotations).length === 0 ? rest : { ...metadata, annotations }
}

/** Options of the Tables of one request. */
export interface TableOptions {
  readonly version: string
  readonly include: IncludeObject
  /** Milliseconds since the epoch, for ages. */
  readonly now: number
  /** Later events of a watch have no column definitions. */
  readonly withColumns: boolean
}

/** Returns a Table of objects. `metadata` is that of the list, or the resourceVersion of one object. */
export function tableOf(
  objects: readonly KubeObject[],
  printer: TablePrinter,
  metadata: JsonObject,
  options: TableOptions,
): JsonObject {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.withColumns ? printer.columns.map((column) => ({ ...column })) : null,
    rows: objects.map((object) => rowOf(object, printer, options)),
  }
}

function rowOf(object: KubeObject, printer: TablePrinter, options: TableOptions): JsonObject {
  const conditions = printer.conditions?.(object) ?? []
  return {
    cells: printer.cells(object, options.now),
    ...(conditions.length === 0 ? {} : { conditions }),
    object: rowObject(object, options),
  }
}

function rowObject(object: KubeObject, { include, version }: TableOptions): JsonValue {
  if (include === 'None') return null
  return asJson(include === 'Object' ? object : partialMetadata(object, version))
}

/** The group, kind and printer that the forms of an object depend on. */
export interface Printed {
  readonly definition: Pick<ResourceDefinition, 'group' | 'kind'>
  readonly version: Pick<VersionDefinition, 'printer'>
}

/**
 * Returns one object as the client requested it.
 * @throws StatusError 400, 406
 */
export function transformObject(
  object: KubeObject,
  transform: Transform | undefined,
  { definition, version }: Printed,
  query: URLSearchParams,
  now: number,
): KubeObject | JsonObject {
  switch (transform?.kind) {
    case undefined:
      return object
    case 'PartialObjectMetadata':
      return partialMetadata(object, transform!.version)
    case 'PartialObjectMetadataList':
      throw notAcceptable(
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${goTypeName(definition.group, definition.kind)})`,
      )
    default: {
      const options = { version: transform!.version, include: includeObjectOf(query), now, withColumns: true }
      return tableOf([object], version.printer, { resourceVersion: object.metadata.resourceVersion ?? '' }, options)
    }
  }
}

/** A list in a form that the client requested; its items are built one at a time. */
export interface TransformedList {
  /** The list without its items. */
  readonly head: JsonObject
  readonly field: 'items' | 'rows'
  /** The items of an empty list. */
  readonly whenEmpty: JsonValue
  readonly itemOf: (object: KubeObject) => JsonObject
}

/**
 * Returns a list as the client requested it; undefined for one that is not transformed.
 * @throws StatusError 400, 406
 */
export function transformList(
  metadata: JsonObject,
  transform: Transform | undefined,
  { definition, version }: ServedResource,
  query: URLSearchParams,
  now: number,
): TransformedList | undefined {
  switch (transform?.kind) {
    case undefined:
      return undefined
    case 'PartialObjectMetadata':
      throw notAcceptable(
        `you requested PartialObjectMetadata, but the requested object is a list (*${goTypeName(definition.group, definition.listKind)})`,
      )
    case 'PartialObjectMetadataList':
      return {
        head: { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${transform!.version}`, metadata },
        field: 'items',
        whenEmpty: null,
        itemOf: (object) => asJson(partialMetadata(object, transform!.version)),
      }
    default: {
      const options = { version: transform!.version, include: includeObjectOf(query), now, withColumns: true }
      const { rows: _rows, ...head } = tableOf([], version.printer, metadata, options)
      return { head, field: 'rows', whenEmpty: [], itemOf: (object) => rowOf(object, version.printer, options) }
    }
  }
}

/** Returns Go's name of an internal type: `core.ConfigMapList`. */
function goTypeName(group: string, kind: string): string {
  return `${group === '' ? 'core' : group.split('.')[0]}.${kind}`
}
