// Writes children as whole objects, as Metacontroller does by default.
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { StatusError, isTooManyRequests, jsonEqual } from '@fairlead/kube'
import type { ApplyStrategy } from './apply-strategy.ts'
import { contentOf, unrecordedContentOf } from './apply-strategy.ts'

/** Creates and updates the children of one parent. */
export class ChildUpdater {
  readonly #client: Client
  readonly #strategy: ApplyStrategy

  constructor(client: Client, strategy: ApplyStrategy) {
    this.#client = client
    this.#strategy = strategy
  }

  /** Creates a child. Throws StatusError (AlreadyExists) for a name that is taken. */
  create(object: KubeObject): Promise<KubeObject> {
    return this.#client.create(object)
  }

  /** Replaces a child. */
  async update(before: KubeObject, object: KubeObject): Promise<KubeObject> {
    const after = await this.#client.update(object)
    if (after.metadata.resourceVersion === before.metadata.resourceVersion) this.#strategy.remember(after, object)
    return after
  }

  /**
   * Returns whether writing an object would leave a child as it is. Where it would change only the record of the last
   * response, that is written.
   */
  async isUnchanged(observed: KubeObject, object: KubeObject): Promise<boolean> {
    try {
      const after = await this.#client.update(object, { dryRun: true })
      if (!jsonEqual(unrecordedContentOf(after), unrecordedContentOf(observed))) return false
      if (jsonEqual(contentOf(observed), contentOf(after))) this.#strategy.remember(observed, object)
      else await this.update(observed, object)
      return true
    } catch (error) {
      // A field that cannot be changed is the reason to recreate a child; Recreate needs no right to update, and
      // webhooks may refuse dry runs. A child that was changed meanwhile stays: the precondition of the delete fails.
      if (error instanceof StatusError && error.code < 500 && !isTooManyRequests(error)) return false
      throw error
    }
  }
}
