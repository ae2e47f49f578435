// The interface of admission plugins: they may change or refuse a write between decoding and storing. Namespace rules,
// the validators of capabilities, policies and webhooks are plugins.
import type { JsonObject } from '@fairlead/kube'
import type { AdmissionAttributes } from './attributes.ts'

/**
 * An admission plugin. Both methods may throw a StatusError to refuse; a plugin with nothing to do returns at once,
 * without a promise.
 */
export interface AdmissionPlugin {
  readonly name: string
  /**
   * Returns the changed object; undefined or the same object when nothing changes. Called before the kind's own
   * preparation and before validation.
   */
  mutate?(attributes: AdmissionAttributes): JsonObject | undefined | Promise<JsonObject | undefined>
  /**
   * Validates the final object. A returned Disposable is disposed once the write has been committed or has failed.
   */
  validate?(attributes: AdmissionAttributes): void | Disposable | Promise<void | Disposable>
}
