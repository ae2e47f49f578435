// Section maps: the labels and annotations shown with the details of a resource (originals/kappnav.md §4).
import { isJsonArray, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { MapData } from '../data/map-data.ts'
import type { Problem } from '../data/problem.ts'
import { policyAnnotation } from './action-map.ts'

/** A parsed section map. */
export interface SectionMap {
  readonly namespace: string
  readonly name: string
  readonly policy: 'merge' | 'replace'
  readonly sections: readonly JsonObject[]
  readonly datasources: readonly JsonObject[]
  readonly problems: readonly Problem[]
}

/** A section of one resource. */
export interface Section {
  readonly name: string
  readonly title: string
  readonly description: string
  /** `namespace/name` of the map that defines it. */
  readonly from: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** Parses a section map. */
export function parseSectionMap(object: Pick<KubeObject, 'metadata'> & { readonly data?: unknown }): SectionMap {
  const data = new MapData(object)
  const named = (key: string): JsonObject[] =>
    data.list(key).filter((value): value is JsonObject => {
      if (isJsonObject(value) && typeof ownValue(value, 'name') === 'string') return true
      if (value !== null)
        data.problems.push({
          code: 'InvalidMap',
          field: `data.${key}`,
          message: 'each entry must be an object with a name; one is ignored',
        })
      return false
    })
  return {
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    policy: object.metadata.annotations?.[policyAnnotation] === 'replace' ? 'replace' : 'merge',
    sections: named('sections'),
    datasources: named('section-datasources'),
    problems: data.problems,
  }
}

/**
 * Returns the sections of a resource: maps most specific first, merged as action maps are. A section without any label
 * or annotation of the resource is left out.
 */
export function sectionsOf(maps: readonly SectionMap[], resource: Pick<KubeObject, 'metadata'>): readonly Section[] {
  const found = new Map<string, Section>()
  for (const map of maps) {
    // The first of a name counts.
    const datasources = new Map(map.datasources.toReversed().map((one) => [ownValue(one, 'name'), one]))
    for (const section of map.sections) {
      const name = ownValue(section, 'name') as string
      if (found.has(name) || !isEnabled(section, resource)) continue
      const source = datasources.get(ownValue(section, 'datasource'))
      const labels = chosen(resource.metadata.labels, listIn(source, 'labels'), listIn(source, 'label-prefixes'))
      const annotations = chosen(
        resource.metadata.annotations,
        listIn(source, 'annotations'),
        listIn(source, 'annotation-prefixes'),
      )
      if (Object.keys(labels).length + Object.keys(annotations).length === 0) continue
      found.set(name, {
        name,
        title: stringIn(section, 'title') || name,
        description: stringIn(section, 'description'),
        from: `${map.namespace}/${map.name}`,
        labels,
        annotations,
      })
    }
    if (map.policy === 'replace') break
  }
  return [...found.values()]
}

/** Returns the merged sections in the form of their data keys, without a resource. */
export function mergedSections(maps: readonly SectionMap[]): JsonObject {
  const replacing = maps.findIndex(({ policy }) => policy === 'replace')
  const used = replacing < 0 ? maps : maps.slice(0, replacing + 1)
  const byName = (key: 'sections' | 'datasources'): readonly JsonObject[] => {
    const found = new Map<string, JsonObject>()
    for (const one of used.flatMap((map) => map[key])) {
      const name = ownValue(one, 'name') as string
      if (!found.has(name)) found.set(name, one)
    }
    return [...found.values()]
  }
  return { sections: byName('sections'), 'section-datasources': byName('datasources') }
}

/** The `enablement-label` of a section may be a label or an annotation. */
function isEnabled(section: JsonObject, { metadata }: Pick<KubeObject, 'metadata'>): boolean {
  const name = stringIn(section, 'enablement-label')
  return name === '' || Object.hasOwn(metadata.labels ?? {}, name) || Object.hasOwn(metadata.annotations ?? {}, name)
}

function chosen(
  values: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
  prefixes: readonly string[],
): Record<string, string> {
  const named = new Set(names)
  const beginnings = new Set(prefixes)
  const lengths = [...new Set(prefixes.map(({ length }) => length))]
  return Object.fromEntries(
    Object.entries(values ?? {}).filter(
      ([key]) =>
        named.has(key) || lengths.some((length) => length <= key.length && beginnings.has(key.slice(0, length))),
    ),
  )
}

function stringIn(object: JsonObject, key: string): string {
  const value = ownValue(object, key)
  return typeof value === 'string' ? value : ''
}

function listIn(object: JsonObject | undefined, key: string): readonly string[] {
  const value: JsonValue | undefined = object && ownValue(object, key)
  return isJsonArray(value) ? value.filter((item) => typeof item === 'string') : []
}
