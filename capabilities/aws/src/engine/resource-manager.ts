// The port to AWS: the calls that a reconcile makes for one resource. `spec` has every reference resolved, with the
// names of the CRD; failures are AwsErrors.
import type { JsonObject } from '@fairlead/kube'

/** A resource as the service describes it, with the names of the CRD. */
export interface Observed {
  readonly spec: JsonObject
  readonly status: JsonObject
  readonly arn?: string
  /** Its tags, where the read returned them. */
  readonly tags?: Readonly<Record<string, string>>
}

/** A change of tags. */
export interface TagChange {
  /** Tags to add, or to give another value. */
  readonly set: Readonly<Record<string, string>>
  /** Keys of tags to remove. */
  readonly remove: readonly string[]
}

/** A change of a resource. */
export interface Change {
  readonly spec: JsonObject
  readonly observed: Observed
  /** Top-level fields that differ. */
  readonly fields: readonly string[]
  /** Annotations of the object. */
  readonly annotations: Readonly<Record<string, string>>
}

/** The calls for one kind. */
export interface ResourceManager {
  /**
   * Returns the resource; undefined when there is none, also when the spec has no key by which there could be one.
   * `status` is the last known one: some resources are found by their ARN.
   */
  read(spec: JsonObject, status: JsonObject): Promise<Observed | undefined>
  /** Returns the tags of a resource that was read. */
  tags(observed: Observed): Promise<Readonly<Record<string, string>>>
  /** Changes the tags of a resource that was read. */
  tag(observed: Observed, change: TagChange): Promise<void>
  create(spec: JsonObject, tags: Readonly<Record<string, string>>): Promise<Observed>
  /** Changes the resource. The returned annotations are kept on the object. */
  update(change: Change): Promise<Observed & { readonly annotations?: Readonly<Record<string, string>> }>
  /** Begins the deletion of a resource that was read; it may take a while to end. */
  delete(spec: JsonObject, observed: Observed): Promise<void>
}
