// The catalog of a cluster without the endpoints, read with the rights of one user: mappings are listed once, and only
// the maps that they name are read.
import { ConfigMap } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { StatusError } from '@fairlead/kube'
import { kindActionMapping } from '../api.ts'
import type { KindActionMappingObject } from '../api.ts'
import { Catalog } from '../engine/catalog.ts'
import type { CatalogSource } from '../engine/catalog.ts'
import { asData } from '../engine/data/map-data.ts'
import type { MapObject } from '../engine/data/map-data.ts'
import type { Target } from '../engine/mapping/target.ts'
import { unregisteredStatusMap } from '../engine/maps/status-map.ts'
import { configName, kappnavNamespace, trustIn, trustedNamespaces } from '../engine/runs/settings.ts'

/** Reads mappings and maps as a user. What the user may not read does not exist for them. */
export class FetchedCatalog implements CatalogSource {
  readonly #client: Client
  /** By `namespace/name`. */
  readonly #maps = new Map<string, MapObject | undefined>()
  /** Namespaces whose mappings were listed; undefined when those of all namespaces were. */
  #listed: Set<string> | undefined = new Set()
  #mappings: readonly KindActionMappingObject[] = []
  #catalog = new Catalog([], () => undefined)

  constructor(client: Client) {
    this.#client = client
  }

  catalog(): Catalog {
    return this.#catalog
  }

  configMap(namespace: string, name: string): MapObject | undefined {
    return this.#maps.get(`${namespace}/${name}`)
  }

  async load(target: Target): Promise<void> {
    await this.loadMap(kappnavNamespace, configName)
    await this.#listMappings(target)
    const catalog = this.#catalog
    const actions = catalog.candidates(target).candidates
    const others = [
      ...catalog.candidates(target, 'status').candidates,
      ...catalog.candidates(target, 'sections').candidates,
    ]
    const unregistered = [...new Set(others.map(({ namespace }) => namespace))].map((namespace) => ({
      namespace,
      name: unregisteredStatusMap,
    }))
    await Promise.all(
      [...actions, ...others, ...unregistered].map(({ namespace, name }) => this.loadMap(namespace, name)),
    )
  }

  async loadMap(namespace: string, name: string): Promise<void> {
    const key = `${namespace}/${name}`
    if (this.#maps.has(key)) return
    const map = await readable(() => this.#client.find(ConfigMap, { namespace, name }))
    this.#maps.set(key, map)
    this.#catalog.mapChanged(namespace, name)
  }

  async #listMappings(target: Target): Promise<void> {
    if (this.#listed === undefined) return
    const config = asData(this.configMap(kappnavNamespace, configName)?.data)
    const isTrusted = trustIn(config)
    if (this.#listed.size === 0) {
      const all = await readable(() => this.#client.list(kindActionMapping))
      if (all !== undefined) {
        this.#listed = undefined
        this.#replace(all.items, isTrusted)
        return
      }
    }
    for (const namespace of new Set([target.namespace, ...trustedNamespaces(config)])) {
      if (this.#listed.has(namespace) || namespace === '*') continue
      this.#listed.add(namespace)
      const found = await readable(() => this.#client.list(kindActionMapping, { namespace }))
      if (found !== undefined) this.#mappings = [...this.#mappings, ...found.items]
    }
    this.#replace(this.#mappings, isTrusted)
  }

  #replace(mappings: readonly KindActionMappingObject[], isTrusted: (namespace: string) => boolean): void {
    this.#mappings = mappings
    this.#catalog = new Catalog(mappings, (namespace, name) => this.configMap(namespace, name), isTrusted)
  }
}

/** Returns undefined for what the user may not read. */
async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof StatusError && error.code === 403) return undefined
    throw error
  }
}
