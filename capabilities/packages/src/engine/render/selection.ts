// Selectors of a pipeline's functions: which resources a function sees.
import type { Selector } from '../kptfile/kptfile.ts'
import type { Resource } from './resource.ts'

/**
 * Returns the resources that a function sees: those that match any selector (all when there is none) and no exclusion.
 * An empty exclusion matches nothing. A resource that two selectors match is passed once.
 */
export function selectResources(
  resources: readonly Resource[],
  selectors: readonly Selector[],
  exclusions: readonly Selector[],
): readonly Resource[] {
  return resources.filter(
    (resource) =>
      (selectors.length === 0 || selectors.some((selector) => matches(resource, selector))) &&
      !exclusions.some((exclusion) => !isEmpty(exclusion) && matches(resource, exclusion)),
  )
}

function matches(resource: Resource, selector: Selector): boolean {
  const { name, namespace, kind, apiVersion, labels, annotations } = selector
  return (
    isEqual(name, resource.name) &&
    isEqual(namespace, resource.namespace) &&
    isEqual(kind, resource.kind) &&
    isEqual(apiVersion, resource.apiVersion) &&
    includes(labels, () => resource.labels) &&
    includes(annotations, () => resource.annotations)
  )
}

function isEqual(wanted: string | undefined, actual: string): boolean {
  return wanted === undefined || wanted === '' || wanted === actual
}

function includes(
  wanted: Readonly<Record<string, string>> | undefined,
  actual: () => ReadonlyMap<string, string>,
): boolean {
  const entries = Object.entries(wanted ?? {})
  if (entries.length === 0) return true
  const present = actual()
  return entries.every(([key, value]) => present.get(key) === value)
}

function isEmpty(selector: Selector): boolean {
  return Object.values(selector).every((value: unknown) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length === 0 : value === undefined || value === '',
  )
}
