// Validation of objects before they are stored.
import type { FieldError, KubeObject } from '@fairlead/kube'
import type { ResourceAccess } from './access/access-reviews.ts'

/** A right that the writer of an object must hold. */
export interface RequiredAccess extends ResourceAccess {
  /** Ends the message of the 403: `spec.serviceAccountRef names the service account "kube-system/boss"`. */
  readonly reason: string
}

/** A right to the objects of a kind. The API server knows the resource; a guessed plural would be another right. */
export interface RequiredKindAccess extends Omit<RequiredAccess, 'resource'> {
  readonly kind: string
}

/** Validates objects of some kinds before they are stored: in process when embedded, a webhook in a cluster. Pure. */
export interface Validator {
  readonly group: string
  readonly resources: readonly string[]
  /**
   * CEL over `object` and `oldObject` that holds for all writes that the validator may refuse; all writes when left
   * out. Manifests make it a match condition of the webhook, so that other writes to a kind of others, such as Jobs, do
   * not depend on it.
   */
  readonly condition?: string
  /** Returns the errors of a created or updated object, `old` undefined on create; none when it is valid. */
  validate(object: KubeObject, old: KubeObject | undefined): readonly FieldError[]
  /**
   * Returns the rights that a user needs to write `object`, beyond the right to write it: those for what the write
   * changes, else users could not update objects of others. The write is refused with 403 when one is missing. Called
   * for writes of the status as well.
   */
  authorize?(object: KubeObject, old: KubeObject | undefined): readonly (RequiredAccess | RequiredKindAccess)[]
}
