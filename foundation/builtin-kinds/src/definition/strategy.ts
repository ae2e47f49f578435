// The strategy of a kind (k8s.io/apiserver's registry/rest): its rules on create, update and delete. The handlers do
// what all kinds share (metadata, generation, managedFields, finalizers). All functions are pure; a Draft may be
// changed in place.
import type { FieldError, JsonValue, KubeObject, UserInfo } from '@fairlead/kube'

/** An object that only the current request holds and may change. */
export type Draft = { [field: string]: JsonValue } & { metadata: { [field: string]: JsonValue } }

/** The context of a write: the user, the time, and read access to other objects. */
export interface WriteContext {
  readonly user: UserInfo
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly apiVersion: string
  /** '' for the object itself. */
  readonly subresource: string
  readonly dryRun: boolean
  /** Returns a random UUID. */
  newUid(): string
  /** Adds a `Warning: 299` header to the response. */
  warn?(text: string): void
  /** Returns another stored object, e.g. a ServiceAccount; undefined when it does not exist. */
  read(resource: string, key: string): KubeObject | undefined
  /**
   * Returns every stored object of a resource, for values that must be unique (cluster IPs). Without it uniqueness is
   * not checked.
   */
  list?(resource: string): Iterable<KubeObject>
}

/** Errors; a promise of them where the validation of a large object yields to other requests. */
export type Validation = readonly FieldError[] | Promise<readonly FieldError[]>

/** `change`: what must not change, labels, annotations and owners; `object`: of the new object, as on creation. */
export type MetadataCheck = 'change' | 'object'

/** The checks of metadata of a kind, in their order; the causes of each are in the response. */
export interface MetadataChecks {
  /** Each check, and the creation, refuses finalizers that are neither qualified nor standard. */
  readonly knowsFinalizers: boolean
  readonly onUpdate: readonly MetadataCheck[]
  /** On writes of `/status`. */
  readonly onStatus: readonly MetadataCheck[]
}

/** The rules of one kind. Every field is optional; a missing function does nothing. */
export interface Strategy {
  /** Sets defaults, on create, update and for schemas on read. Idempotent. */
  applyDefaults?(object: Draft, options?: { readonly keepsNulls?: boolean }): void
  /**
   * Returns an object without the fields unknown to its version, after conversion between versions (custom resources).
   */
  prune?(object: KubeObject): KubeObject
  /**
   * Makes the changes of Kubernetes' own admission plugins to a new object, or with `old` to a changed one: default
   * classes, priorities, tolerations. Runs before webhooks, and again after one of them has changed the object.
   */
  admit?(object: Draft, old: KubeObject | undefined, context: WriteContext): void
  /** Runs before the validation of a new object: allocates (cluster IPs), normalizes (stringData), clears status. */
  prepareForCreate?(object: Draft, context: WriteContext): void
  /**
   * Runs before the validation of an update: restores fields that clients may not change. With `hasStatus` the handler
   * has restored status.
   */
  prepareForUpdate?(object: Draft, old: KubeObject, context: WriteContext): void
  /**
   * Handles the DELETE of a kind that a controller finalizes: marks the object and returns true; false applies the
   * common rules. `now` is RFC 3339 with whole seconds.
   */
  prepareForDeletion?(object: Draft, now: string): boolean
  validate?(object: KubeObject, context: WriteContext): Validation
  validateUpdate?(object: KubeObject, old: KubeObject, context: WriteContext): Validation
  /** Validates an update of the `/status` subresource. */
  validateStatusUpdate?(object: KubeObject, old: KubeObject, context: WriteContext): Validation
  /** Returns the messages for `Warning: 299` headers. */
  warnings?(object: KubeObject, old: KubeObject | undefined): readonly string[]
  /**
   * Returns the errors of a name with the API server's messages. Default: a DNS subdomain. `prefix`: the name is a
   * generateName.
   */
  validateName?(name: string, prefix: boolean): readonly string[]
  /** PUT of a missing name creates it (leases, events, nodes …). Default false. */
  readonly allowCreateOnUpdate?: boolean
  /** PUT without resourceVersion overwrites. Default true for built-in kinds, false for custom resources. */
  readonly allowUnconditionalUpdate?: boolean
  /**
   * Subresources that read and write the object itself, with their own rules. Default: those of the built-in kinds and
   * `status`.
   */
  readonly objectSubresources?: ReadonlySet<string>
  /** Those of them that change only status. Default: `status` and `approval`. */
  readonly statusSubresources?: ReadonlySet<string>
  /** The maximum size of an object in bytes of JSON. Default 1.5 MiB. */
  readonly maxObjectBytes?: number
  /** `status` has its own subresource: writes of the object ignore it, `/status` changes only it. */
  readonly hasStatus?: boolean
  /** A new object keeps the status of the request. Default: it starts at zero. */
  readonly keepsStatusOnCreate?: boolean
  /** The metadata that a write of `/status` does not change. Default: only the fields that the server sets. */
  readonly statusKeeps?: 'labels' | 'metadata'
  /** metadata.generation counts changes outside of metadata and status. */
  readonly tracksGeneration?: boolean
  /** metadata.generation is that of the creation, whatever changes (PriorityClasses). */
  readonly keepsGeneration?: boolean
  /** The metadata that counts for metadata.generation too: annotations of Deployments, labels of EndpointSlices. */
  readonly generationCounts?: 'annotations' | 'labels'
  /**
   * The reset fields of the object or of a subresource, which its managers do not own (`status`; for `/status` all
   * others). Default: by `hasStatus`.
   */
  readonly resetFields?: Readonly<Record<string, readonly (readonly string[])[]>>
  /** The checks of metadata besides that of all updates. Default: those of custom resources. */
  readonly metadataChecks?: MetadataChecks
  /** The default propagation policy of DELETE. */
  readonly defaultPropagation?: 'Background' | 'Orphan' | 'Foreground'
  /** DELETE returns the object instead of a Status (pods, services …). */
  readonly returnsDeletedObject?: boolean
  /**
   * Returns the default grace period in seconds (pods); 0 deletes at once. Omitted by kinds without graceful deletion.
   */
  gracePeriodSeconds?(object: KubeObject): number
}
