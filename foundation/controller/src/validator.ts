// Validation of objects before they are stored.
import type { FieldError, KubeObject } from '@fairlead/kube'

/** Validates objects of some kinds before they are stored: in process when embedded, a webhook in a cluster. Pure. */
export interface Validator {
  readonly group: string
  readonly resources: readonly string[]
  /** Returns the errors of a created or updated object, `old` undefined on create; none when it is valid. */
  validate(object: KubeObject, old: KubeObject | undefined): readonly FieldError[]
}
