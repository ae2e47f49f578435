// What the server knows of one resource: its names, versions, schemas and behaviour. Built-in tables and CRDs both become ResourceDefinitions;
// discovery, OpenAPI, tables, RBAC and the handlers read nothing else.
import type { JsonObject, KubeObject, TypeSchema } from '@fairlead/kube'
import type { Strategy } from './strategy.ts'

/** A body does not fit the kind's types; the message is that of Go's decoder. */
export class TypeMismatch extends Error {
  readonly code = 'TypeMismatch'
}

/** A subresource as discovery shows it. */
export interface SubresourceDefinition {
  readonly name: string
  readonly kind: string
  /** `autoscaling/v1` of scale; left out where it is the parent's. */
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

/** How objects of one kind become rows. `cells` gives one value per column; `now` is milliseconds since the epoch, for ages. */
export interface TablePrinter {
  readonly columns: readonly ColumnDefinition[]
  cells(object: KubeObject, now: number): readonly (string | number | bigint | boolean | null)[]
  /** What a reader should know of a row beside its cells (a pod that ended). */
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
  /** Schema of the kind in this version; undefined only for kinds that are all free-form. */
  readonly schema: TypeSchema | undefined
  /**
   * Brings a decoded body into the form that Go's types would give it (built-in kinds): unknown fields out, nulls and empty optional values out,
   * empty required values in. Left out for custom resources, which keep what their schema keeps. Throws {@link TypeMismatch} in Go's words.
   */
  decode?(body: JsonObject): { readonly object: JsonObject; readonly unknownFields: readonly string[] }
  /** JSON paths of `scale` (custom resources). */
  readonly scale?: {
    readonly specReplicasPath: string
    readonly statusReplicasPath: string
    readonly labelSelectorPath?: string
  }
  readonly printer: TablePrinter
  /** Fields beyond metadata.name and metadata.namespace that field selectors may name, with how to read them ('' when absent). */
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
  /** Bytes that the body of a request may have. Default 3 MiB. */
  readonly maxBodyBytes?: number
  /** Operations whose dry runs are refused; OpenAPI does not offer them. */
  readonly noDryRun?: readonly string[]
  /** The CRD that defines or describes it (origins `custom` and `storage`). */
  readonly crd?: KubeObject
  /**
   * Turns objects of one of its versions into another. Left out where versions differ by apiVersion alone. A promise where it asks a webhook;
   * throws a StatusError when that fails.
   */
  convert?(objects: readonly KubeObject[], apiVersion: string): readonly KubeObject[] | Promise<readonly KubeObject[]>
  readonly strategy: Strategy
}

/** The store's name of a resource: `configmaps.`, `deployments.apps`. Events of both groups share `events.`. */
export function resourceName(definition: { readonly group: string; readonly plural: string }): string {
  return definition.plural === 'events' && definition.group === 'events.k8s.io'
    ? 'events.'
    : `${definition.plural}.${definition.group}`
}

/** The apiVersion that objects of a resource are stored with. */
export function storedApiVersion(definition: ResourceDefinition): string {
  if (definition.plural === 'events' && definition.group === 'events.k8s.io') return 'v1'
  return definition.group === '' ? definition.storageVersion : `${definition.group}/${definition.storageVersion}`
}
