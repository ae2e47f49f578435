// The definition of a resource: its names, versions, schemas and strategy. Built-in tables and CRDs both become
// ResourceDefinitions; discovery, OpenAPI, tables, RBAC and the handlers read only these.
import type { JsonObject, KubeObject, TypeSchema } from '@fairlead/kube'
import type { Strategy } from './strategy.ts'

/** Thrown for a body that does not match the kind's types; the message is that of Go's decoder. */
export class TypeMismatch extends Error {
  readonly code = 'TypeMismatch'
}

/**
 * The decoder that messages are those of: `json` of Go's JSON package, `unstructured` of apimachinery's converter from
 * unstructured objects, which strategic merge patches go through.
 */
export type BodyDecoder = 'json' | 'unstructured'

/** A subresource in discovery. */
export interface SubresourceDefinition {
  readonly name: string
  readonly kind: string
  /** `autoscaling/v1` of scale; omitted when it is the parent's. */
  readonly groupVersion?: string
  readonly verbs: readonly string[]
}

/** A column of `kubectl get`. */
export interface ColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
}

/**
 * The columns and rows of one kind in a Table. `cells` returns one value per column; `now` is milliseconds since the
 * epoch, for ages.
 */
export interface TablePrinter {
  readonly columns: readonly ColumnDefinition[]
  cells(object: KubeObject, now: number): readonly (string | number | bigint | boolean | null)[]
  /** The conditions of a row (a pod that has completed). */
  conditions?(object: KubeObject): readonly JsonObject[]
}

/** One version of a resource. */
export interface VersionDefinition {
  readonly name: string
  readonly served: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
  readonly verbs: readonly string[]
  readonly subresources: readonly SubresourceDefinition[]
  /** Schema of the kind in this version; undefined only for free-form kinds. */
  readonly schema: TypeSchema | undefined
  /**
   * Decodes a body as Go's types do (built-in kinds): unknown fields, nulls and empty optional values are dropped,
   * empty required values are added. Omitted for custom resources, which are pruned by their schema. Throws
   * {@link TypeMismatch} with Go's message.
   */
  decode?(
    body: JsonObject,
    decoder?: BodyDecoder,
  ): { readonly object: JsonObject; readonly unknownFields: readonly string[] }
  /** JSON paths of `scale` (custom resources). */
  readonly scale?: {
    readonly specReplicasPath: string
    readonly statusReplicasPath: string
    readonly labelSelectorPath?: string
  }
  readonly printer: TablePrinter
  /**
   * Fields that field selectors support beyond metadata.name and metadata.namespace, with their getters ('' when
   * absent).
   */
  readonly selectableFields: Readonly<Record<string, (object: KubeObject) => string>>
}

/**
 * The source of a resource definition:
 * - `builtin`: Kubernetes' own kinds, decoded and validated as Go types.
 * - `custom`: an installed CustomResourceDefinition.
 * - `storage`: a ResourceStorage; a CustomResourceDefinition that is not installed describes it.
 * - `remote`: the discovery of an extension API server behind an APIService, which serves the resource.
 */
export type ResourceOrigin = 'builtin' | 'custom' | 'storage' | 'remote'

/** One resource of one group in all its versions. */
export interface ResourceDefinition {
  readonly origin: ResourceOrigin
  readonly group: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  /** In discovery's order. */
  readonly versions: readonly VersionDefinition[]
  readonly storageVersion: string
  /** The maximum size of a request body in bytes. Default 3 MiB. */
  readonly maxBodyBytes?: number
  /** Operations that reject dry runs; OpenAPI omits their parameter. */
  readonly noDryRun?: readonly string[]
  /** The CRD that defines it; only for the origin `custom`. */
  readonly crd?: KubeObject
  /**
   * Converts objects to another version. Omitted when versions differ only in apiVersion. Returns a promise when it
   * calls a webhook; throws a StatusError when that fails.
   */
  convert?(objects: readonly KubeObject[], apiVersion: string): readonly KubeObject[] | Promise<readonly KubeObject[]>
  readonly strategy: Strategy
}

/**
 * Returns the name of a resource in the store: `configmaps.`, `deployments.apps`. Events of both groups share
 * `events.`.
 */
export function resourceName(definition: { readonly group: string; readonly plural: string }): string {
  return definition.plural === 'events' && definition.group === 'events.k8s.io'
    ? 'events.'
    : `${definition.plural}.${definition.group}`
}

/** Returns the apiVersion in which objects of a resource are stored. */
export function storedApiVersion(definition: ResourceDefinition): string {
  if (definition.plural === 'events' && definition.group === 'events.k8s.io') return 'v1'
  return definition.group === '' ? definition.storageVersion : `${definition.group}/${definition.storageVersion}`
}
