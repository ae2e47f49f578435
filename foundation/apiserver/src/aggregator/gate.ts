// The aggregation layer's part that is always there: it notices the first APIService that leads to a Service, and loads the rest.
import type { KubeObject } from '@fairlead/kube'
import type { Store } from '../storage/store.ts'
import type { Aggregator, AggregatorOptions } from './aggregator.ts'
import type { Upstream, UpstreamResolver } from '../http/upstream.ts'

/** The store's name of APIServices. */
export const apiServicesResource = 'apiservices.apiregistration.k8s.io'

/** What the gate watches, besides what the layer needs. */
export interface GateOptions extends AggregatorOptions {
  readonly store: Pick<Store, 'watch' | 'revision'>
}

/** Leads nowhere until there is somewhere to go. */
export class AggregationGate implements UpstreamResolver, AsyncDisposable {
  readonly #options: GateOptions
  readonly #watch: Disposable
  #aggregator: Aggregator | undefined
  #loading: Promise<Aggregator> | undefined

  constructor(options: GateOptions) {
    this.#options = options
    this.#watch = options.store.watch(apiServicesResource, options.store.revision, ({ entry }) =>
      this.#see(entry.object as unknown as KubeObject),
    )
    for (const object of options.list(apiServicesResource)) this.#see(object)
  }

  resolve(path: string): Upstream | undefined {
    return this.#aggregator?.resolve(path)
  }

  openApiPaths(): ReturnType<UpstreamResolver['openApiPaths']> {
    return this.#aggregator?.openApiPaths() ?? Promise.resolve({})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch[Symbol.dispose]()
    await (await this.#loading)?.[Symbol.asyncDispose]()
  }

  #see(object: KubeObject): void {
    if (this.#aggregator !== undefined) return this.#aggregator.follow()
    const { service } = (object['spec'] ?? {}) as { service?: unknown }
    if (service === undefined || service === null || this.#loading !== undefined) return
    this.#loading = this.#load()
    this.#loading.catch(this.#options.onError)
  }

  async #load(): Promise<Aggregator> {
    const { Aggregator } = await import('./aggregator.ts')
    this.#aggregator = new Aggregator(this.#options)
    this.#aggregator.follow()
    return this.#aggregator
  }
}
