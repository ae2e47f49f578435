// The catalog of a cluster, kept up to date by shared caches.
import { ConfigMap } from '@fairlead/client'
import type { Informer, InformerUse, Manager, ObjectCache } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { kindActionMapping } from '../api.ts'
import type { KindActionMappingObject } from '../api.ts'
import { ActionError } from '../engine/action-error.ts'
import { Catalog } from '../engine/catalog.ts'
import type { CatalogSource } from '../engine/catalog.ts'
import { asData } from '../engine/data/map-data.ts'
import type { MapObject } from '../engine/data/map-data.ts'
import { configName, kappnavNamespace, trustIn } from '../engine/runs/settings.ts'

/** The catalog of a cluster, kept up to date by informers with the controller's rights. */
export class LiveCatalog implements CatalogSource, Disposable {
  readonly #mappings: InformerUse<KindActionMappingObject>
  readonly #maps: InformerUse<ConfigMap>
  readonly #subscriptions: readonly Disposable[]
  readonly #catalog: Catalog
  #isStale = true

  constructor(manager: Pick<Manager, 'use'>) {
    this.#mappings = manager.use(kindActionMapping)
    this.#maps = manager.use(ConfigMap)
    this.#catalog = new Catalog([], (namespace, name) => this.configMap(namespace, name))
    this.#subscriptions = [
      this.#mappings.informer.subscribe({ changed: () => void (this.#isStale = true) }, { replay: false }),
      this.#maps.informer.subscribe(
        {
          changed: ({ object: { metadata } }) => {
            if (metadata.namespace === kappnavNamespace && metadata.name === configName) this.#isStale = true
            this.#catalog.mapChanged(metadata.namespace ?? '', metadata.name ?? '')
          },
        },
        { replay: false },
      ),
    ]
  }

  catalog(): Catalog {
    const mappings = synced(this.#mappings.informer)
    synced(this.#maps.informer)
    if (this.#isStale) {
      this.#isStale = false
      this.#catalog.replaceMappings(
        [...mappings.values()],
        trustIn(asData(this.configMap(kappnavNamespace, configName)?.data)),
      )
    }
    return this.#catalog
  }

  configMap(namespace: string, name: string): MapObject | undefined {
    return synced(this.#maps.informer).get(`${namespace}/${name}`)
  }

  /** Resolves when both informers are synced, or cannot sync. */
  async settled(signal?: AbortSignal): Promise<void> {
    await Promise.all([this.#mappings.informer.waitForState(signal), this.#maps.informer.waitForState(signal)])
  }

  [Symbol.dispose](): void {
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]()
    this.#mappings[Symbol.dispose]()
    this.#maps[Symbol.dispose]()
  }
}

/** Returns the objects of a synced informer. Throws ActionError 503 while they are unknown. */
function synced<T extends KubeObject>(informer: Informer<T>): ObjectCache<T> {
  const read = informer.read()
  if (read.known) return read.objects
  const { kind, state, cause } = read.reason
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  throw new ActionError(503, 'internal-error', `${kind.kind} objects are not synced yet (${state})${why}; try again`)
}
