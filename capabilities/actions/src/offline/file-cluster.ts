// A Cluster of objects from files.
import { parseFieldSelector, parseApiVersion, parseLabelSelector, selectorFrom } from '@fairlead/kube'
import { asJson, isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonValue, KubeObject, ObjectKey, Selector } from '@fairlead/kube'
import { KindCatalog, UnknownKindError } from '@fairlead/offline'
import type { Cluster, ListScope, ResourceKind } from '../engine/cluster.ts'

/** Reads a list of objects. */
export class FileCluster implements Cluster {
  readonly #objects: readonly KubeObject[]
  readonly #kinds: KindCatalog

  constructor(objects: readonly KubeObject[]) {
    this.#objects = objects
    this.#kinds = new KindCatalog(objects)
  }

  async kindOf(type: string): Promise<ResourceKind | undefined> {
    try {
      return this.#kinds.byName(type)
    } catch (error) {
      if (error instanceof UnknownKindError) return undefined
      throw error
    }
  }

  async find(
    kind: Pick<ResourceKind, 'apiVersion' | 'kind'>,
    { namespace, name }: ObjectKey,
  ): Promise<KubeObject | undefined> {
    return this.#ofKind(kind).find(
      ({ metadata }) => metadata.name === name && (namespace === '' || (metadata.namespace ?? '') === namespace),
    )
  }

  async list(kind: Pick<ResourceKind, 'apiVersion' | 'kind'>, scope: ListScope): Promise<readonly KubeObject[]> {
    return this.#ofKind(kind).filter(matcher(scope)).toSorted(byKey)
  }

  /** The objects of a kind, in any version of its group. */
  #ofKind(kind: Pick<ResourceKind, 'apiVersion' | 'kind'>): readonly KubeObject[] {
    const { group } = parseApiVersion(kind.apiVersion)
    return this.#objects.filter(
      (object) => object.kind === kind.kind && parseApiVersion(object.apiVersion ?? '').group === group,
    )
  }
}

/** Returns a predicate: the object is in the scope. */
function matcher({ namespace, labelSelector, fieldSelector }: ListScope): (object: KubeObject) => boolean {
  const labels: Selector | undefined =
    labelSelector === undefined
      ? undefined
      : typeof labelSelector === 'string'
        ? parseLabelSelector(labelSelector)
        : selectorFrom(labelSelector)
  const fields = fieldSelector === undefined ? [] : parseFieldSelector(fieldSelector).requirements
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (labels === undefined || labels.matches(object.metadata.labels ?? {})) &&
    fields.every(({ field, operator, value }) => (stringAt(object, field) === value) === (operator !== '!='))
}

function stringAt(object: KubeObject, path: string): string {
  const value = path
    .split('.')
    .reduce<JsonValue | undefined>((at, name) => (isJsonObject(at) ? ownValue(at, name) : undefined), asJson(object))
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
}

function byKey(a: KubeObject, b: KubeObject): number {
  const key = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0
}
