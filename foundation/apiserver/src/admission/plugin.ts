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
  /** Validates the final object. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>
}
