// Namespaces of the cluster, for creations: from a cache, and asked for where the cache may only lag behind.
import { Namespace } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Informer, InformerPool } from '@fairlead/controller'
import { failure } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { AdmissionPlugin } from '../admission/plugin.ts'

/** Needs the rights to get, list and watch namespaces. */
export class ClusterNamespaces implements Disposable {
  readonly #client: Client
  readonly #uses = new DisposableStack()
  readonly #informer: Informer
  /** Found by asking, and not in the cache yet. */
  readonly #asked = new Map<string, KubeObject>()

  constructor(client: Client, informers: InformerPool) {
    this.#client = client
    const { informer } = this.#uses.use(informers.use(Namespace as typeof Namespace, { metadataOnly: true }))
    this.#informer = informer
    this.#uses.use(informer.subscribe({ changed: ({ object }) => void this.#asked.delete(object.metadata.name ?? '') }))
  }

  /** Why namespaces are not known; undefined when they are. */
  get problem(): string | undefined {
    return this.#informer.state === 'Synced' ? undefined : `namespaces are ${this.#informer.state}`
  }

  /** Asks for the namespace of a creation that the cache lacks. */
  link(): AdmissionPlugin {
    return {
      name: 'namespaces',
      mutate: ({ operation, namespace }) =>
        operation !== 'CREATE' || namespace === '' || this.#informer.get(namespace) !== undefined
          ? undefined
          : this.#ask(namespace),
    }
  }

  /** The metadata of a namespace; undefined when there is none. @throws StatusError 503 while none are known */
  read(name: string): KubeObject | undefined {
    const known = this.#informer.get(name) ?? this.#asked.get(name)
    if (known !== undefined || this.problem === undefined) return known
    throw failure(503, 'ServiceUnavailable', `${this.problem}; try again`)
  }

  [Symbol.dispose](): void {
    this.#uses.dispose()
  }

  async #ask(name: string): Promise<undefined> {
    if (this.problem !== undefined) return undefined
    const found = await this.#client.find(Namespace, name)
    if (found === undefined) this.#asked.delete(name)
    else if (this.#informer.get(name) === undefined) this.#asked.set(name, found)
    return undefined
  }
}
