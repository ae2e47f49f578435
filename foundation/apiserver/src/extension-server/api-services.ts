// Registers the APIServices of an extension API server by server-side apply, and reconciles them when our fields or the
// CA bundle change.
import { backoffDelay, kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import type { Informer, InformerPool, Logger } from '@fairlead/controller'
import { DisposableStack, jsonEqual } from '@fairlead/kube'
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

/** A group version. */
export interface GroupVersion {
  readonly group: string
  readonly version: string
}

/** The APIServices to register. */
export interface Registration {
  /** The Service of this server, and its port (443 when left out). */
  readonly service: ObjectKey & { readonly port?: number }
  /** In descending order of preference within each group. */
  readonly served: readonly GroupVersion[]
  /** `groupPriorityMinimum`: clients that name only a resource prefer higher groups. */
  readonly groupPriority: number
}

/** Dependencies of {@link ApiServices}. */
export interface ApiServicesDependencies {
  readonly client: Client
  readonly informers: InformerPool
  readonly clock: Clock
  readonly log: Logger
  /** Returns the PEM for `caBundle`. */
  readonly bundle: () => string
}

/**
 * Backoff between attempts, milliseconds: the cluster may reject them, and another controller may fight over the same
 * object.
 */
const backoff = { base: 500, cap: 30_000, jitter: 0.5 }
/** Time without an attempt after which the backoff is reset. Milliseconds. */
const backoffReset = 120_000
/** The highest `versionPriority`. */
const topPriority = 100

interface Attempt {
  readonly at: number
  /** Number of attempts since the last reset. */
  readonly count: number
  readonly wait: number
}

/** Returns the APIServices of a registration. */
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

/** Reconciles the APIServices of a registration until it is disposed; the objects stay. */
export class ApiServices implements Disposable {
  readonly #registration: Registration
  readonly #dependencies: ApiServicesDependencies
  readonly #uses = new DisposableStack()
  readonly #caches = new Map<string, Informer<ApiService>>()
  readonly #attempts = new Map<string, Attempt>()
  readonly #pending = new Set<string>()
  #timer: Disposable | undefined
  #running = false
  #again = false
  #disposed = false

  constructor(registration: Registration, dependencies: ApiServicesDependencies) {
    this.#registration = registration
    this.#dependencies = dependencies
    for (const { group, version } of registration.served) {
      const name = `${version}.${group}`
      this.#pending.add(name)
      const { informer } = this.#uses.use(
        dependencies.informers.use(ApiService, { fieldSelector: `metadata.name=${name}` }),
      )
      this.#caches.set(name, informer)
      this.#uses.use(informer.subscribe({ changed: () => this.renew(), state: () => this.renew() }, { replay: false }))
    }
  }

  /** The missing registrations; undefined when there are none. */
  get problem(): string | undefined {
    return this.#pending.size === 0 ? undefined : `not registered yet: ${[...this.#pending].join(', ')}`
  }

  /** Schedules a reconcile of all APIServices. */
  renew(): void {
    this.#again = true
    if (!this.#running) this.#schedule(0)
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#timer?.[Symbol.dispose]()
    this.#uses.dispose()
  }

  #schedule(delay: number): void {
    this.#timer?.[Symbol.dispose]()
    if (!this.#disposed) this.#timer = this.#dependencies.clock.timer(delay, () => void this.#run())
  }

  async #run(): Promise<void> {
    this.#running = true
    this.#again = false
    let soonest = Number.POSITIVE_INFINITY
    for (const wanted of apiServices(this.#registration, this.#dependencies.bundle())) {
      if (this.#disposed) return
      soonest = Math.min(soonest, await this.#register(wanted))
    }
    this.#running = false
    if (this.#disposed) return
    if (this.#again) this.renew()
    else if (soonest < Number.POSITIVE_INFINITY) this.#schedule(soonest)
  }

  /**
   * Reconciles one APIService. Returns the milliseconds until the next attempt, infinite when an event will trigger it.
   */
  async #register(wanted: ApiService): Promise<number> {
    const { client, clock, log } = this.#dependencies
    const name = wanted.metadata.name!
    const cache = this.#caches.get(name)!
    if (cache.state === 'Syncing') return Number.POSITIVE_INFINITY
    if (isAsWanted(cache.lastKnown.get(name), wanted)) {
      this.#pending.delete(name)
      return Number.POSITIVE_INFINITY
    }
    const now = clock.monotonic()
    const last = this.#attempts.get(name)
    const isRecent = last !== undefined && now - last.at < backoffReset
    if (isRecent && now < last.at + last.wait) return last.at + last.wait - now
    const count = isRecent ? last.count + 1 : 1
    const attempt = { at: now, count, wait: backoffDelay(count, { ...backoff, random: client.random }) }
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

/** Returns true when the live object has all of our fields. */
function isAsWanted(live: ApiService | undefined, { spec }: ApiService): boolean {
  const has = (live?.spec ?? {}) as JsonObject
  return Object.entries(spec as JsonObject).every(([field, value]) => jsonEqual(has[field] ?? null, value))
}
