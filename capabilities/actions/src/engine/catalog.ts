// All mappings and maps at hand, and what they mean for a resource. Reads nothing by itself: whoever keeps objects tells where a map is.
import type { KubeObject } from '@fairlead/kube'
import type { MapObject } from './data/map-data.ts'
import { parseActionMap } from './maps/action-map.ts'
import type { ActionMap } from './maps/action-map.ts'
import { parseMapping } from './mapping/mapping.ts'
import type { Mapping } from './mapping/mapping.ts'
import { MappingIndex } from './mapping/mapping-index.ts'
import type { Candidate, Candidates } from './mapping/mapping-index.ts'
import { mergeMaps } from './maps/merge.ts'
import type { FoundMap, MergedMap } from './maps/merge.ts'
import { parseSectionMap, sectionsOf } from './maps/section-map.ts'
import type { Section, SectionMap } from './maps/section-map.ts'
import { findStatusMap, parseStatusMap } from './maps/status-map.ts'
import type { StatusMap } from './maps/status-map.ts'
import { targetOf } from './mapping/target.ts'
import type { Target } from './mapping/target.ts'

/** A KindActionMapping as the catalog needs it. */
export type MappingObject = Pick<KubeObject, 'metadata'> & { readonly spec?: unknown }

/** Where maps are. The same object must come until it changes. */
export type FindMap = (namespace: string, name: string) => MapObject | undefined

/** A catalog, and the ConfigMaps beside it: the port of the service to a cluster, or to a list of objects. */
export interface CatalogSource {
  /** Returns the catalog as it is now. Throws ActionError 503 while it is not known. */
  catalog(): Catalog
  /** Returns a ConfigMap as it is now, or undefined when it does not exist. */
  configMap(namespace: string, name: string): MapObject | undefined
}

/** What mapping, lookup and merge give for a resource. */
export interface Resolution extends Candidates {
  readonly target: Target
  readonly merged: MergedMap
}

/** Merged sets that are remembered. */
const maxRemembered = 10_000

/** The catalog. Tell it of changes; lookups make no call. */
export class Catalog {
  readonly #find: FindMap
  #index: MappingIndex
  #mappings: readonly Mapping[]
  readonly #merged = new Map<string, MergedMap>()
  /** Maps that a remembered set was made of, or would have been had they existed. */
  readonly #asked = new Set<string>()

  /** What is offered by these mappings, with maps found by `find`. */
  constructor(mappings: readonly MappingObject[], find: FindMap) {
    this.#find = find
    this.#mappings = mappings.map(parsedMapping)
    this.#index = new MappingIndex(this.#mappings)
  }

  /** The mappings in force. */
  get mappings(): readonly Mapping[] {
    return this.#mappings
  }

  /** The mappings are others now. */
  replaceMappings(mappings: readonly MappingObject[]): void {
    this.#mappings = mappings.map(parsedMapping)
    this.#index = new MappingIndex(this.#mappings)
    this.#forget()
  }

  /** A map came, changed or went. */
  mapChanged(namespace: string, name: string): void {
    if (this.#asked.has(`${namespace}/${name}`)) this.#forget()
  }

  /** Maps that a resource may have, most specific first. */
  candidates(target: Target): Candidates {
    return this.#index.candidates(target)
  }

  /** The actions of a resource, and how they came about. */
  resolve(resource: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): Resolution {
    return this.resolveTarget(targetOf(resource))
  }

  /** As {@link Catalog.resolve}. */
  resolveTarget(target: Target): Resolution {
    const { candidates, problems } = this.#index.candidates(target)
    return { target, candidates, problems, merged: this.#mergedOf(candidates) }
  }

  /** The status map of a resource; undefined when none is found or it tells nothing. */
  statusMapOf(target: Target): StatusMap | undefined {
    const found = findStatusMap(this.#index.candidates(target, 'status').candidates, this.#find)
    return found && parsedStatusMap(found)
  }

  /** The sections of a resource's details. */
  sectionsOf(resource: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): readonly Section[] {
    const { candidates } = this.#index.candidates(targetOf(resource), 'sections')
    return sectionsOf(
      candidates.flatMap(({ namespace, name }) => {
        const found = this.#find(namespace, name)
        return found === undefined ? [] : [parsedSectionMap(found)]
      }),
      resource,
    )
  }

  #mergedOf(candidates: readonly Candidate[]): MergedMap {
    let key = ''
    for (const { namespace, name } of candidates) key += `${namespace}/${name} `
    const known = this.#merged.get(key)
    if (known !== undefined) return known
    if (this.#merged.size >= maxRemembered) this.#forget()
    const found: FoundMap[] = []
    for (const candidate of candidates) {
      this.#asked.add(`${candidate.namespace}/${candidate.name}`)
      const map = this.#find(candidate.namespace, candidate.name)
      if (map !== undefined) found.push({ candidate, map: parsedActionMap(map) })
    }
    const merged = mergeMaps(found)
    this.#merged.set(key, merged)
    return merged
  }

  #forget(): void {
    this.#merged.clear()
    this.#asked.clear()
  }
}

/** Returns the source of a fixed list of objects: read from files, or listed once. */
export function fixedCatalog(mappings: readonly MappingObject[], maps: readonly MapObject[]): CatalogSource {
  const byKey = new Map(maps.map((map) => [`${map.metadata.namespace ?? ''}/${map.metadata.name ?? ''}`, map]))
  const configMap = (namespace: string, name: string): MapObject | undefined => byKey.get(`${namespace}/${name}`)
  const catalog = new Catalog(mappings, configMap)
  return { catalog: () => catalog, configMap }
}

const parsedMapping: (object: MappingObject) => Mapping = onceEach(parseMapping)

/** An action map, read once for each state of its ConfigMap. */
export const parsedActionMap: (object: MapObject) => ActionMap = onceEach(parseActionMap)

const parsedSectionMap: (object: MapObject) => SectionMap = onceEach(parseSectionMap)

const parsedStatusMap: (object: MapObject) => StatusMap | undefined = onceEach(
  (object) => parseStatusMap({ data: object.data }).map,
)

/** Objects are frozen and shared: what was read from one stays true. */
function onceEach<T extends object, R>(read: (object: T) => R): (object: T) => R {
  const known = new WeakMap<T, { readonly result: R }>()
  return (object) => {
    let entry = known.get(object)
    if (entry === undefined) known.set(object, (entry = { result: read(object) }))
    return entry.result
  }
}
