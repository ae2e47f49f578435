// What differs between kinds when objects are written. The handler does everything that is common (metadata, generation, managedFields, finalizers);
// a Strategy only says what its kind adds. All functions are pure; objects that are handed in as Draft may be changed in place.
import type { FieldError, JsonValue, KubeObject, UserInfo } from '@fairlead/kube'

/** An object that this request alone holds and may still change. */
export type Draft = { [field: string]: JsonValue } & { metadata: { [field: string]: JsonValue } }

/** What a strategy may look at besides the object. */
export interface WriteContext {
  readonly user: UserInfo
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly apiVersion: string
  /** '' for the object itself. */
  readonly subresource: string
  readonly dryRun: boolean
  /** A random UUID per call. */
  newUid(): string
  /** Adds a `Warning: 299` header to the answer. */
  warn?(text: string): void
  /** Reads another object of the server as stored, e.g. to find a ServiceAccount; undefined when it is not there. */
  read(resource: string, key: string): KubeObject | undefined
  /** Every stored object of a resource, for what must be unique among them (cluster IPs). Without it uniqueness is a matter of chance. */
  list?(resource: string): Iterable<KubeObject>
}

/** Behaviour of one kind. Every member is optional; a missing one does nothing. */
export interface Strategy {
  /** Fills what a client left out, on create, update and for schemas on read. Idempotent. */
  applyDefaults?(object: Draft, options?: { readonly keepsNulls?: boolean }): void
  /** An object without the fields that its version does not know: what conversion between versions leaves (custom resources). */
  prune?(object: KubeObject): KubeObject
  /** Before validation of a new object: allocates (cluster IPs), normalises (stringData), drops status. */
  prepareForCreate?(object: Draft, context: WriteContext): void
  /** Before validation of a changed object: carries over what clients may not change. Status has been kept by the handler already where `hasStatus`. */
  prepareForUpdate?(object: Draft, old: KubeObject, context: WriteContext): void
  /**
   * DELETE of a kind that a controller has to clean up after: marks the object in its own way and returns true; false leaves the rest to the
   * common rules. `now` is RFC 3339 with whole seconds.
   */
  prepareForDeletion?(object: Draft, now: string): boolean
  validate?(object: KubeObject, context: WriteContext): readonly FieldError[]
  validateUpdate?(object: KubeObject, old: KubeObject, context: WriteContext): readonly FieldError[]
  /** Checks of the `/status` subresource. */
  validateStatusUpdate?(object: KubeObject, old: KubeObject, context: WriteContext): readonly FieldError[]
  /** Texts for `Warning: 299` headers. */
  warnings?(object: KubeObject, old: KubeObject | undefined): readonly string[]
  /** Why a name is wrong, as the API server words it; [] when it is fine. Default: a DNS subdomain. `prefix`: it is a generateName. */
  validateName?(name: string, prefix: boolean): readonly string[]
  /** PUT of a missing name creates it (leases, events, nodes …). Default false. */
  readonly allowCreateOnUpdate?: boolean
  /** PUT without resourceVersion overwrites. Default true for built-in kinds, false for custom resources. */
  readonly allowUnconditionalUpdate?: boolean
  /** Subresources that are the object itself, with rules of their own. Default: those of the built-in kinds and `status`. */
  readonly objectSubresources?: ReadonlySet<string>
  /** Those of them that change status and nothing else. Default: `status` and `approval`. */
  readonly statusSubresources?: ReadonlySet<string>
  /** Bytes of JSON that one object may take. Default 1.5 MiB. */
  readonly maxObjectBytes?: number
  /** `status` has its own subresource: the main endpoint keeps it, `/status` changes only it. */
  readonly hasStatus?: boolean
  /** What of metadata a write of `/status` leaves as it was. Default: nothing but what the server keeps there itself. */
  readonly statusKeeps?: 'labels' | 'metadata'
  /** metadata.generation counts changes of everything but metadata and status. */
  readonly tracksGeneration?: boolean
  /** Annotations count for metadata.generation too (Deployments). */
  readonly generationCountsAnnotations?: boolean
  /** The fields that clients of the main endpoint, or of a subresource, do not own (`status`; for `/status` all but it). Default: by `hasStatus`. */
  readonly resetFields?: Readonly<Record<string, readonly (readonly string[])[]>>
  /** How often an update of this kind checks labels, annotations and owners again: causes repeat as often. Default 2. */
  readonly metadataChecksOnUpdate?: number
  /** Default propagation of DELETE. */
  readonly defaultPropagation?: 'Background' | 'Orphan' | 'Foreground'
  /** DELETE answers with the object instead of a Status (pods, services …). */
  readonly returnsDeletedObject?: boolean
  /** Seconds of a graceful deletion (pods) when the client names none; 0 is final. Left out by kinds that know no grace. */
  gracePeriodSeconds?(object: KubeObject): number
}
