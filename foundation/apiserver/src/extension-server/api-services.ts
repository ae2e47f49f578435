// The APIServices of a server: registered by server-side apply, and again whenever somebody changes what is ours or the bundle to trust is another one.
import { backoffDelay, kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import type { Informer, InformerPool, Logger } from '@fairlead/controller'
import { jsonEqual } from '@fairlead/kube'
import type { Clock, JsonObject, KubeObject, ObjectKey } from '@fairlead/kube'

/** An `apiregistration.k8s.io/v1 APIService`. */
export interface ApiService extends KubeObject {
  readonly spec?: {
    readonly group?: string
    readonly version?: string
    readonly service?: { readonly namespace?: string; readonly name?: string; readonly port?: number } | null
    readonly caBundle?: string
    readonly insecureSkipTLSVerify?: boolean
    readonly groupPriorityMinimum?: number
    readonly versionPriority?: number
  }
}

export const ApiService: Kind<ApiService> = kind('apiregistration.k8s.io/v1', 'APIService', {
  plural: 'apiservices',
  namespaced: false,
})

/** A group in one version. */
export interface GroupVersion {
  readonly group: string
  readonly version: string
}

/** How the cluster finds and ranks what is registered. */
export interface Registration {
  /** The Service that leads here, and its port (443 when left out). */
  readonly service: ObjectKey & { readonly port?: number }
  /** In descending order of preference within each group. */
  readonly served: readonly GroupVersion[]
  /** Higher groups are found first by clients that name a resource only. */
  readonly groupPriority: number
}

/** What the keeper lives on. */
export interface ApiServicesHost {
  readonly client: Client
  readonly informers: InformerPool
  readonly clock: Clock
  readonly log: Logger
  /** PEM of the authorities that the cluster must trust. */
  readonly bundle: () => string
}

/** Waits between attempts, milliseconds: the cluster may refuse, and somebody else may want the same name and never give in. */
const waits = { base: 500, cap: 30_000, jitter: 0.5 }
/** Attempts this long ago are forgotten. Milliseconds. */
const calm = 120_000
/** Versions are ranked below this. */
const topPriority = 100

interface Attempt {
  readonly at: number
  /** How many there were, of late. */
  readonly count: number
  readonly wait: number
}

/** The objects that a registration wants. */
export function apiServices({ service, served, groupPriority }: Registration, bundle: string): readonly ApiService[] {
  const ranks = new Map<string, number>()
  return served.map(({ group, version }) => {
    const rank = ranks.get(group) ?? 0
    ranks.set(group, rank + 1)
    return {
      apiVersion: ApiService.apiVersion,
      kind: ApiService.kind,
      metadata: { name: `${version}.${group}` },
      spec: {
        group,
        version,
        service: { namespace: service.namespace, name: service.name, port: service.port ?? 443 },
        caBundle: Buffer.from(bundle).toString('base64'),
        groupPriorityMinimum: groupPriority,
        versionPriority: Math.max(1, topPriority - rank),
      },
    }
  })
}

/** Keeps a registration as it should be until it is disposed; the objects stay. */
export class ApiServices implements Disposable {
  readonly #registration: Registration
  readonly #host: ApiServicesHost
  readonly #uses = new DisposableStack()
  readonly #caches = new Map<string, Informer<ApiService>>()
  readonly #attempts = new Map<string, Attempt>()
  readonly #pending = new Set<string>()
  #timer: Disposable | undefined
  #running = false
  #again = false
  #disposed = false

  constructor(registration: Registration, host: ApiServicesHost) {
    this.#registration = registration
    this.#host = host
    for (const { group, version } of registration.served) {
      const name = `${version}.${group}`
      this.#pending.add(name)
      const { informer } = this.#uses.use(host.informers.use(ApiService, { fieldSelector: `metadata.name=${name}` }))
      this.#caches.set(name, informer)
      this.#uses.use(informer.subscribe({ changed: () => this.renew(), state: () => this.renew() }, { replay: false }))
    }
  }

  /** What is not registered; undefined when everything is. */
  get problem(): string | undefined {
    return this.#pending.size === 0 ? undefined : `not registered yet: ${[...this.#pending].join(', ')}`
  }

  /** Looks at everything again, soon. */
  renew(): void {
    this.#again = true
    if (!this.#running) this.#look(0)
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#timer?.[Symbol.dispose]()
    this.#uses.dispose()
  }

  #look(wait: number): void {
    this.#timer?.[Symbol.dispose]()
    if (!this.#disposed) this.#timer = this.#host.clock.timer(wait, () => void this.#run())
  }

  async #run(): Promise<void> {
    this.#running = true
    this.#again = false
    let soonest = Number.POSITIVE_INFINITY
    for (const wanted of apiServices(this.#registration, this.#host.bundle())) {
      if (this.#disposed) return
      soonest = Math.min(soonest, await this.#register(wanted))
    }
    this.#running = false
    if (this.#disposed) return
    if (this.#again) this.renew()
    else if (soonest < Number.POSITIVE_INFINITY) this.#look(soonest)
  }

  /** Makes one object as it should be. Gives after how many milliseconds to look at it again, without being told. */
  async #register(wanted: ApiService): Promise<number> {
    const { client, clock, log } = this.#host
    const name = wanted.metadata.name!
    const cache = this.#caches.get(name)!
    if (cache.state === 'Syncing') return Number.POSITIVE_INFINITY
    if (isAsWanted(cache.get(name), wanted)) {
      this.#pending.delete(name)
      return Number.POSITIVE_INFINITY
    }
    const now = clock.monotonic()
    const last = this.#attempts.get(name)
    const isRecent = last !== undefined && now - last.at < calm
    if (isRecent && now < last.at + last.wait) return last.at + last.wait - now
    const count = isRecent ? last.count + 1 : 1
    const attempt = { at: now, count, wait: backoffDelay(count, { ...waits, random: client.random }) }
    this.#attempts.set(name, attempt)
    try {
      await client.apply(wanted, { force: true })
      this.#pending.delete(name)
    } catch (error) {
      this.#pending.add(name)
      log.error('Could not register an APIService', { error, name })
    }
    return attempt.wait
  }
}

/** All that we set is there. */
function isAsWanted(live: ApiService | undefined, { spec }: ApiService): boolean {
  const has = (live?.spec ?? {}) as JsonObject
  return Object.entries(spec as JsonObject).every(([field, value]) => jsonEqual(has[field] ?? null, value))
}
