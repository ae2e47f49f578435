// The chain of admission plugins: all mutating ones in order, later all validating ones (admission.NewChainHandler of
// k8s.io/apiserver).
import { DisposableStack } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { AdmissionAttributes } from './attributes.ts'
import type { AdmissionPlugin } from './plugin.ts'

/** Runs plugins one after the other. */
export class AdmissionChain {
  readonly #mutating: readonly AdmissionPlugin[]
  readonly #validating: readonly AdmissionPlugin[]

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#mutating = plugins.filter((plugin) => plugin.mutate !== undefined)
    this.#validating = plugins.filter((plugin) => plugin.validate !== undefined)
  }

  /** Returns the object after every mutating plugin. @throws StatusError of the first plugin that refuses */
  async mutate(attributes: AdmissionAttributes): Promise<JsonObject | undefined> {
    let object = attributes.object as JsonObject | undefined
    for (const plugin of this.#mutating) {
      const result = plugin.mutate!(
        object === attributes.object ? attributes : { ...attributes, object: object as KubeObject },
      )
      const changed = result instanceof Promise ? await result : result
      if (changed !== undefined) object = changed
    }
    return object
  }

  /**
   * Runs the validating plugins. For deletions the mutating plugins run here as well: there is no object for them to
   * change. Dispose the result, if there is one, once the write has been committed or has failed.
   * @throws StatusError of the first plugin that refuses
   */
  async validate(attributes: AdmissionAttributes): Promise<Disposable | undefined> {
    if (attributes.operation === 'DELETE') await this.mutate(attributes)
    let admitted: DisposableStack | undefined
    try {
      for (const plugin of this.#validating) {
        const result = plugin.validate!(attributes)
        const disposable = result instanceof Promise ? await result : result
        if (disposable) (admitted ??= new DisposableStack()).use(disposable)
      }
    } catch (error) {
      admitted?.dispose()
      throw error
    }
    return admitted
  }
}
