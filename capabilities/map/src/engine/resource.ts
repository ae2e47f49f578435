// A kind that a MapController names, once discovery has said what it is.
import type { InputResource, OutputResource, RelatedResource, UpdateMethod } from '../api.ts'

/** A resource and its kind. `group` is '' for the core group. */
export interface ResolvedResource {
  readonly apiVersion: string
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
}

/** An input kind and what narrows it. */
export interface InputKind extends ResolvedResource {
  readonly spec: InputResource
}

/** An output kind and what happens to outputs that differ. */
export interface OutputKind extends ResolvedResource {
  readonly method: UpdateMethod
}

/** A related kind and the rule that picks its objects. */
export interface RelatedKind extends ResolvedResource {
  readonly spec: RelatedResource
}

/** Adds what an output resource says about updates; OnDelete when it says nothing (Q11). */
export function outputKind(resource: ResolvedResource, spec: OutputResource): OutputKind {
  return { ...resource, method: spec.updateStrategy?.method ?? 'OnDelete' }
}

/** The outer key of object maps in hook requests: `ConfigMap.v1`, `Deployment.apps/v1` (Q10). */
export function kindKey(resource: { readonly kind: string; readonly apiVersion: string }): string {
  return `${resource.kind}.${resource.apiVersion}`
}

/** `volumesnapshots.snapshot.example.com`, or the plural alone for the core group. */
export function groupResource(resource: { readonly plural: string; readonly group: string }): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}
