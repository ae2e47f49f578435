// Namespaces of the cluster, for admission of creations: from an informer, with a live GET where it may lag behind.
import { Namespace } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Informer, InformerPool } from '@fairlead/controller'
import { DisposableStack, failure } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { AdmissionPlugin } from '../admission/plugin.ts'

/** Namespaces of the cluster. Needs permission to get, list and watch namespaces. */
export class ClusterNamespaces implements Disposable {
  readonly #client: Client
  readonly #uses = new DisposableStack()
  readonly #informer: Informer
  /** Namespaces from live GETs that the informer lacks. */
  readonly #live = new Map<string, KubeObject>()

  constructor(client: Client, informers: InformerPool) {
    this.#client = client
    const { informer } = this.#uses.use(informers.use(Namespace as typeof Namespace, { metadataOnly: true }))
    this.#informer = informer
    this.#uses.use(informer.subscribe({ changed: ({ object }) => void this.#live.delete(object.metadata.name ?? '') }))
  }

  /** The reason why namespaces are not synced; undefined when they are. */
  get problem(): string | undefined {
    return this.#informer.state === 'Synced' ? undefined : `namespaces are ${this.#informer.state}`
  }

  /** Returns the admission plugin that GETs the namespace of a creation when the informer lacks it. */
  admissionPlugin(): AdmissionPlugin {
    return {
      name: 'namespaces',
      mutate: ({ operation, namespace }) =>
        operation !== 'CREATE' || namespace === '' || this.#informer.lastKnown.get(namespace) !== undefined
          ? undefined
          : this.#getLive(namespace),
    }
  }

  /**
   * Returns the metadata of a namespace; undefined when it does not exist. @throws StatusError 503 while the informer
   * is not synced
   */
  read(name: string): KubeObject | undefined {
    const known = this.#informer.lastKnown.get(name) ?? this.#live.get(name)
    if (known !== undefined || this.problem === undefined) return known
    throw failure(503, 'ServiceUnavailable', `${this.problem}; try again`)
  }

  [Symbol.dispose](): void {
    this.#uses.dispose()
  }

  async #getLive(name: string): Promise<undefined> {
    if (this.problem !== undefined) return undefined
    const found = await this.#client.find(Namespace, name)
    if (found === undefined) this.#live.delete(name)
    else if (this.#informer.lastKnown.get(name) === undefined) this.#live.set(name, found)
    return undefined
  }
}
