// The annotations of namespaces, which place resources and say what becomes of them.
import { Namespace } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Informer, Manager } from '@fairlead/controller'
import { DisposableStack } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { Annotations } from '../engine/policies.ts'

/** The namespaces of a cluster. */
export class Namespaces implements Disposable {
  readonly #client: Client
  readonly #informer: Informer
  readonly #uses = new DisposableStack()
  readonly #seen = new Map<string, string>()

  /** `changed` is called for a namespace whose annotations changed; it must not throw. */
  constructor(manager: Manager, changed: (namespace: string) => void) {
    this.#client = manager.client
    const { informer } = this.#uses.use(manager.use(Namespace))
    this.#informer = informer
    this.#uses.use(
      informer.subscribe({
        changed: ({ type, object }) => {
          const { name = '' } = object.metadata
          const annotations = JSON.stringify(own(object))
          const before = this.#seen.get(name)
          if (type === 'removed') this.#seen.delete(name)
          else this.#seen.set(name, annotations)
          if (before !== undefined && before !== annotations) changed(name)
        },
      }),
    )
  }

  /** Returns the annotations of a namespace; asks the server while the cache does not have it. */
  async annotations(name: string): Promise<Annotations> {
    const cache = this.#informer.read()
    const cached = cache.known ? cache.objects.get({ namespace: '', name }) : undefined
    const namespace = cached ?? (await this.#client.find(Namespace, name))
    return namespace === undefined ? {} : own(namespace)
  }

  [Symbol.dispose](): void {
    this.#uses[Symbol.dispose]()
  }
}

/** Returns the annotations that concern AWS, sorted. */
function own({ metadata }: KubeObject): Annotations {
  const entries = Object.entries(metadata.annotations ?? {}).filter(([key]) => /(^|\.)services\.k8s\.aws\//.test(key))
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
