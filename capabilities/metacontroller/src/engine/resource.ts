// The kinds that a MapController names, resolved by discovery or from files.
import type { InputResource, OutputResource, RelatedResource, UpdateMethod } from '../api.ts'

/** A resource and its kind. `group` is '' for the core group. */
export interface ResolvedResource {
  readonly apiVersion: string
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
}

/** An input kind and its selectors. */
export interface InputKind extends ResolvedResource {
  readonly spec: InputResource
}

/** The changes of an output that call no hook; none are ignored when left out. */
export type IgnoredChanges = Pick<OutputResource, 'ignoreStatusChanges' | 'fieldPaths'>

/** An output kind, its update method, and the changes that matter. */
export interface OutputKind extends ResolvedResource {
  readonly method: UpdateMethod
  readonly changes?: IgnoredChanges
  /** The parent controls its outputs (the default), or is one of their owners. */
  readonly ownership?: OutputResource['ownership']
  /** Outputs that are wanted no longer are deleted (the default), or left without an owner. */
  readonly deletionPolicy?: OutputResource['deletionPolicy']
}

/** A related kind and the rule that selects its objects. */
export interface RelatedKind extends ResolvedResource {
  readonly spec: RelatedResource
}

/** Returns an output kind with the update method of its spec; OnDelete when it has none (Q11). */
export function outputKind(resource: ResolvedResource, spec: OutputResource): OutputKind {
  const { updateStrategy, ownership, deletionPolicy } = spec
  return {
    ...resource,
    method: updateStrategy?.method ?? 'OnDelete',
    changes: spec,
    ...(ownership && { ownership }),
    ...(deletionPolicy && { deletionPolicy }),
  }
}

/** Returns the outer key of object maps in hook requests: `ConfigMap.v1`, `Deployment.apps/v1` (Q10). */
export function kindKey(resource: { readonly kind: string; readonly apiVersion: string }): string {
  return `${resource.kind}.${resource.apiVersion}`
}

/** Returns `volumesnapshots.snapshot.example.com`, or the plural alone for the core group. */
export function groupResource(resource: { readonly plural: string; readonly group: string }): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}
