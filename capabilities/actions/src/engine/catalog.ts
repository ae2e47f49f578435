// The catalog: all mappings, and the actions, status and sections that they give a resource. Maps come from FindMap.
import type { KubeObject } from '@fairlead/kube'
import type { MapObject } from './data/map-data.ts'
import { MappingIndex } from './mapping/mapping-index.ts'
import type { Candidate, Candidates, IsTrusted } from './mapping/mapping-index.ts'
import { parseMapping } from './mapping/mapping.ts'
import type { Mapping, MapType } from './mapping/mapping.ts'
import { targetOf } from './mapping/target.ts'
import type { Target } from './mapping/target.ts'
import { parseActionMap } from './maps/action-map.ts'
import type { ActionMap } from './maps/action-map.ts'
import { mergeMaps } from './maps/merge.ts'
import type { FoundMap, MergedMap } from './maps/merge.ts'
import { parseSectionMap, sectionsOf } from './maps/section-map.ts'
import type { Section, SectionMap } from './maps/section-map.ts'
import { findStatusMap, parseStatusMap } from './maps/status-map.ts'
import type { StatusMap } from './maps/status-map.ts'

/** A KindActionMapping as far as the catalog needs it. */
export type MappingObject = Pick<KubeObject, 'metadata'> & { readonly spec?: unknown }

/** Returns a map by its key. The same object must be returned until it changes. */
export type FindMap = (namespace: string, name: string) => MapObject | undefined

/** A catalog, and the ConfigMaps beside it: the port of the service to a cluster, or to a list of objects. */
export interface CatalogSource {
  /** Returns the catalog as it is now. Throws ActionError 503 while it is not synced. */
  catalog(): Catalog
  /** Returns a ConfigMap as it is now, or undefined when it does not exist. */
  configMap(namespace: string, name: string): MapObject | undefined
  /** Loads what the catalog needs for a target, where it is not in memory already. */
  load?(target: Target): Promise<void>
  /** Loads a ConfigMap, where it is not in memory already. */
  loadMap?(namespace: string, name: string): Promise<void>
}

/** The result of mapping, lookup and merge for a resource. */
export interface Resolution extends Candidates {
  readonly target: Target
  readonly merged: MergedMap
}

/** Entries of the cache of merged maps. */
const maxCached = 10_000

/** Resolves the actions of resources. Notify it of changes; a lookup makes no API call. */
export class Catalog {
  readonly #find: FindMap
  #index: MappingIndex
  #mappings: readonly Mapping[]
  #isTrusted: IsTrusted
  readonly #merged = new Map<string, MergedMap>()
  /** Keys of all maps that a cached merge looked up, found or not. */
  readonly #lookedUp = new Set<string>()

  /** Creates a catalog of mappings that finds maps with `find`; all namespaces are trusted by default. */
  constructor(mappings: readonly MappingObject[], find: FindMap, isTrusted: IsTrusted = () => true) {
    this.#find = find
    this.#isTrusted = isTrusted
    this.#mappings = mappings.map(parsedMapping)
    this.#index = new MappingIndex(this.#mappings, isTrusted)
  }

  /** The current mappings. */
  get mappings(): readonly Mapping[] {
    return this.#mappings
  }

  /** Replaces all mappings, and the namespaces that are trusted. */
  replaceMappings(mappings: readonly MappingObject[], isTrusted: IsTrusted = this.#isTrusted): void {
    this.#mappings = mappings.map(parsedMapping)
    this.#isTrusted = isTrusted
    this.#index = new MappingIndex(this.#mappings, isTrusted)
    this.#clearCache()
  }

  /** Notifies the catalog that a map was created, updated or deleted. */
  mapChanged(namespace: string, name: string): void {
    if (this.#lookedUp.has(`${namespace}/${name}`)) this.#clearCache()
  }

  /** Returns the candidate maps of a resource, most specific first. */
  candidates(target: Target, type: MapType = 'actions'): Candidates {
    return this.#index.candidates(target, type)
  }

  /** Returns the actions of a resource with their provenance. */
  resolve(resource: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): Resolution {
    return this.resolveTarget(targetOf(resource))
  }

  /** Returns the actions of a target with their provenance. */
  resolveTarget(target: Target): Resolution {
    const { candidates, problems } = this.#index.candidates(target)
    return { target, candidates, problems, merged: this.#mergedOf(candidates) }
  }

  /** Returns the status map of a resource; undefined when there is none, or no valid one. */
  statusMapOf(target: Target): StatusMap | undefined {
    const found = findStatusMap(this.#index.candidates(target, 'status').candidates, this.#find)
    return found && parsedStatusMap(found)
  }

  /** Returns the sections of a resource's details. */
  sectionsOf(
    resource: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>,
    target: Target = targetOf(resource),
  ): readonly Section[] {
    return sectionsOf(this.sectionMapsOf(target), resource)
  }

  /** Returns the section maps of a target that exist, most specific first. */
  sectionMapsOf(target: Target): readonly SectionMap[] {
    return this.#index.candidates(target, 'sections').candidates.flatMap(({ namespace, name }) => {
      const found = this.#find(namespace, name)
      return found === undefined ? [] : [parsedSectionMap(found)]
    })
  }

  #mergedOf(candidates: readonly Candidate[]): MergedMap {
    let key = ''
    for (const { namespace, name } of candidates) key += `${namespace}/${name} `
    const cached = this.#merged.get(key)
    if (cached !== undefined) return cached
    if (this.#merged.size >= maxCached) this.#clearCache()
    const found: FoundMap[] = []
    for (const candidate of candidates) {
      this.#lookedUp.add(`${candidate.namespace}/${candidate.name}`)
      const map = this.#find(candidate.namespace, candidate.name)
      if (map === undefined) continue
      const isUntrusted = this.#isTrusted(candidate.namespace) ? {} : ({ isUntrusted: true } as const)
      found.push({ candidate, map: parsedActionMap(map), ...isUntrusted })
    }
    const merged = mergeMaps(found)
    this.#merged.set(key, merged)
    return merged
  }

  #clearCache(): void {
    this.#merged.clear()
    this.#lookedUp.clear()
  }
}

/** Returns the source of a fixed list of objects; all namespaces are trusted by default. */
export function fixedCatalog(
  mappings: readonly MappingObject[],
  maps: readonly MapObject[],
  isTrusted?: IsTrusted,
): CatalogSource {
  const byKey = new Map(maps.map((map) => [`${map.metadata.namespace ?? ''}/${map.metadata.name ?? ''}`, map]))
  const configMap = (namespace: string, name: string): MapObject | undefined => byKey.get(`${namespace}/${name}`)
  const catalog = new Catalog(mappings, configMap, isTrusted)
  return { catalog: () => catalog, configMap }
}

/** Parses a mapping, once for each version of the object. */
export const parsedMapping: (object: MappingObject) => Mapping = onceEach(parseMapping)

/** Parses an action map, once for each version of its ConfigMap. */
export const parsedActionMap: (object: MapObject) => ActionMap = onceEach(parseActionMap)

const parsedSectionMap: (object: MapObject) => SectionMap = onceEach(parseSectionMap)

const parsedStatusMap: (object: MapObject) => StatusMap | undefined = onceEach(
  (object) => parseStatusMap({ data: object.data }).map,
)

/** Caches the result per object: objects are frozen, a change gives a new one. */
function onceEach<T extends object, R>(read: (object: T) => R): (object: T) => R {
  const known = new WeakMap<T, { readonly result: R }>()
  return (object) => {
    let entry = known.get(object)
    if (entry === undefined) known.set(object, (entry = { result: read(object) }))
    return entry.result
  }
}
