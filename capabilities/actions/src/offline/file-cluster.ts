// A Cluster of objects from files.
import { builtinKinds } from '@fairlead/client'
import { parseFieldSelector, parseApiVersion, parseLabelSelector, selectorFrom } from '@fairlead/kube'
import type { JsonValue, KubeObject, ObjectKey, Selector } from '@fairlead/kube'
import { isJsonObject, ownValue } from '@fairlead/kube'
import type { Cluster, ListScope, ResourceKind } from '../engine/cluster.ts'

/** Reads a list of objects. */
export class FileCluster implements Cluster {
  readonly #objects: readonly KubeObject[]
  readonly #kinds: readonly ResourceKind[]

  constructor(objects: readonly KubeObject[]) {
    this.#objects = objects
    this.#kinds = kindsOf(objects)
  }

  async kindOf(type: string): Promise<ResourceKind | undefined> {
    const [name = '', ...rest] = type.toLowerCase().split('.')
    const group = rest.join('.')
    return this.#kinds.find(
      (kind) => [kind.kind.toLowerCase(), kind.plural].includes(name) && (group === '' || kind.group === group),
    )
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
    .reduce<JsonValue | undefined>(
      (at, name) => (isJsonObject(at) ? ownValue(at, name) : undefined),
      object as unknown as JsonValue,
    )
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
}

function kindsOf(objects: readonly KubeObject[]): readonly ResourceKind[] {
  const known = builtinKinds.map((kind): ResourceKind => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    group: kind.group,
    plural: kind.plural ?? `${kind.kind.toLowerCase()}s`,
    namespaced: kind.namespaced ?? true,
  }))
  const seen = objects.map((object): ResourceKind => ({
    apiVersion: object.apiVersion,
    kind: object.kind,
    group: parseApiVersion(object.apiVersion ?? '').group,
    plural: `${(object.kind ?? '').toLowerCase()}s`,
    namespaced: object.metadata.namespace !== undefined,
  }))
  return [...known, ...seen]
}

function byKey(a: KubeObject, b: KubeObject): number {
  const key = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0
}
