// The catalog of a cluster, kept up to date by shared caches.
import { ConfigMap } from '@fairlead/client'
import type { InformerUse, Manager } from '@fairlead/controller'
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
    for (const { informer } of [this.#mappings, this.#maps]) {
      if (informer.state === 'Synced') continue
      const why = informer.error instanceof Error ? `: ${informer.error.message}` : ''
      throw new ActionError(
        503,
        'internal-error',
        `${informer.kind.kind} objects are not synced yet (${informer.state})${why}; try again`,
      )
    }
    if (this.#isStale) {
      this.#isStale = false
      this.#catalog.replaceMappings(
        [...this.#mappings.informer.objects.values()],
        trustIn(asData(this.configMap(kappnavNamespace, configName)?.data)),
      )
    }
    return this.#catalog
  }

  configMap(namespace: string, name: string): MapObject | undefined {
    return this.#maps.informer.get(`${namespace}/${name}`)
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
