// A ClusterReader over objects at hand: for files and for tests.
import { builtinKinds } from '@fairlead/client'
import { parseFieldSelector, parseApiVersion, parseLabelSelector, selectorFrom } from '@fairlead/kube'
import type { JsonValue, KubeObject, ObjectKey, Selector } from '@fairlead/kube'
import { isJsonObject, ownValue } from '@fairlead/kube'
import type { ClusterReader, ReadKind, ReadScope } from '../engine/cluster.ts'

/** Reads from a list of objects. */
export function objectsReader(objects: readonly KubeObject[]): ClusterReader {
  const kinds = kindsOf(objects)
  const ofKind = (kind: Pick<ReadKind, 'apiVersion' | 'kind'>): KubeObject[] => {
    const { group } = parseApiVersion(kind.apiVersion)
    return objects.filter(
      (object) => object.kind === kind.kind && parseApiVersion(object.apiVersion ?? '').group === group,
    )
  }
  return {
    async kindOf(type) {
      const [name, ...rest] = type.toLowerCase().split('.')
      const group = rest.join('.')
      return kinds.find(
        (kind) => [kind.kind.toLowerCase(), kind.plural].includes(name!) && (group === '' || kind.group === group),
      )
    },
    async find(kind, { namespace, name }: ObjectKey) {
      return ofKind(kind).find(
        (object) =>
          object.metadata.name === name && (namespace === '' || (object.metadata.namespace ?? '') === namespace),
      )
    },
    async list(kind, scope) {
      const matches = matcher(scope)
      return ofKind(kind).filter(matches).toSorted(byKey)
    },
  }
}

/** Whether an object is in a scope. */
export function matcher({ namespace, labelSelector, fieldSelector }: ReadScope): (object: KubeObject) => boolean {
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
    fields.every(({ field, operator, value }) => (textAt(object, field) === value) === (operator !== '!='))
}

function textAt(object: KubeObject, path: string): string {
  const value = path
    .split('.')
    .reduce<JsonValue | undefined>(
      (at, name) => (isJsonObject(at) ? ownValue(at, name) : undefined),
      object as unknown as JsonValue,
    )
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
}

function kindsOf(objects: readonly KubeObject[]): readonly ReadKind[] {
  const known = builtinKinds.map((kind): ReadKind => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    group: kind.group,
    plural: kind.plural ?? `${kind.kind.toLowerCase()}s`,
    namespaced: kind.namespaced ?? true,
  }))
  const seen = objects.map((object): ReadKind => ({
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
