// The references manifest: which fields of a kind take their value from which other kind. Every part of the engine is
// driven by it; no kind has code of its own (originals/ack.md §2.7).

/** States of a referent that a reference can wait for; the weaker ones let cycles of references resolve. */
export type WaitFor = 'Synced' | 'Value' | 'Exists'

/** Forms of `external` identifiers. */
export type Identifier = 'arn' | 'name' | 'id'

/** Reaction to a reference beside its plain field: the plain value wins (seed S5), or the object is refused (ACK). */
export type BothSet = 'prefer_external' | 'reject'

/** A kind that a reference may name, and the path of the value in it, such as `status.ackResourceMetadata.arn`. */
export interface ReferentKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly valuePath: string
  /** False for a cluster-scoped kind; a kind is namespaced when left out. */
  readonly namespaced?: boolean
}

/**
 * One field that takes its value from another object. Paths are below the root that holds them (the spec); `[]` after a
 * segment is a list: `productionVariants[].modelName`. Field and reference have the same parent.
 */
export interface ReferenceRow extends ReferentKind {
  /** The field that receives the value. */
  readonly fieldPath: string
  /** The field that holds the reference, or the list of references. */
  readonly refPath: string
  /** Place of the reference in messages; its path when left out. */
  readonly refName?: string
  /** Set for a list of values, each from a reference of its own. */
  readonly list: boolean
  /** Set when one of the two fields must be set. */
  readonly required: boolean
  readonly waitFor: WaitFor
  readonly bothSet: BothSet
  readonly identifier?: Identifier
  /** Template of the value, such as `integrations/{value}`. */
  readonly format?: string
  /** Further kinds that a reference can choose by its `kind`. */
  readonly kinds?: readonly ReferentKind[]
}

/** A kind with references of its own. */
export interface ReferringKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Plural of the kind, by which its definition is named. */
  readonly plural: string
  readonly rows: readonly ReferenceRow[]
}

/** The rows of each kind. */
export type ReferenceTable = Readonly<Record<string, readonly ReferenceRow[]>>
