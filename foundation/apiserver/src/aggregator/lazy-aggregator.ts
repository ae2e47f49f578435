// Loads the aggregator when the first APIService refers to a Service.
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { Store } from '../storage/store.ts'
import type { Aggregator, AggregatorOptions } from './aggregator.ts'
import type { Upstream, UpstreamResolver } from '../http/upstream.ts'

/** The store's name of APIServices. */
export const apiServicesResource = 'apiservices.apiregistration.k8s.io'

/** Options of a {@link LazyAggregator}. */
export interface LazyAggregatorOptions extends Omit<AggregatorOptions, 'client'> {
  readonly store: Pick<Store, 'watch' | 'revision'>
}

/** An aggregator that resolves no path until it is loaded. */
export class LazyAggregator implements UpstreamResolver, AsyncDisposable {
  readonly #options: LazyAggregatorOptions
  #watch: Disposable | undefined
  #aggregator: Aggregator | undefined
  #loading: Promise<Aggregator> | undefined

  constructor(options: LazyAggregatorOptions) {
    this.#options = options
  }

  /** Watches APIServices; `client` writes their status. */
  start(client: Client): void {
    const { store, list } = this.#options
    this.#watch = store.watch(apiServicesResource, store.revision, ({ entry }) =>
      this.#observe(entry.object as unknown as KubeObject, client),
    )
    for (const object of list(apiServicesResource)) this.#observe(object, client)
  }

  resolve(path: string): Upstream | undefined {
    return this.#aggregator?.resolve(path)
  }

  openApiPaths(): ReturnType<UpstreamResolver['openApiPaths']> {
    return this.#aggregator?.openApiPaths() ?? Promise.resolve({})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch?.[Symbol.dispose]()
    await (await this.#loading)?.[Symbol.asyncDispose]()
  }

  #observe(object: KubeObject, client: Client): void {
    if (this.#aggregator !== undefined) return this.#aggregator.update()
    const { service } = (object['spec'] ?? {}) as { service?: unknown }
    if (service === undefined || service === null || this.#loading !== undefined) return
    this.#loading = this.#load(client)
    this.#loading.catch(this.#options.onError)
  }

  async #load(client: Client): Promise<Aggregator> {
    const { Aggregator } = await import('./aggregator.ts')
    this.#aggregator = new Aggregator({ ...this.#options, client })
    this.#aggregator.update()
    return this.#aggregator
  }
}
