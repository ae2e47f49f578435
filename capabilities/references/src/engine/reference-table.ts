// The references manifest: which fields of a kind take their value from which other kind (specs/references.md §1).

/** One field of a kind that takes its value from another object. */
export interface FieldReference {
  /** Path of the field that receives the value, below the object, e.g. `spec.executionRoleArn`. */
  readonly path: string
  /** The kind it refers to. */
  readonly target: { readonly group: string; readonly kind: string }
  /** Path of the value in the referent, e.g. `status.ackResourceMetadata.arn`. */
  readonly valuePath: string
}
