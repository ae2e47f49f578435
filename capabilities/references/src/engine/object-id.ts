// Identity of an object among objects of many kinds.

/** Group (core: ''), kind, namespace ('' when cluster-scoped) and name of an object. */
export interface ObjectId {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Returns a string that is equal for equal ids only: none of the parts can hold a slash. */
export function idKey({ group, kind, namespace, name }: ObjectId): string {
  return `${group}/${kind}/${namespace}/${name}`
}

/** Returns an id as messages name it: `Role xyz/r`. */
export function formatId({ kind, namespace, name }: ObjectId): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`}`
}

/** Orders ids for messages and lists that must not depend on the order of events. */
export function byId(a: ObjectId, b: ObjectId): number {
  const [one, other] = [idKey(a), idKey(b)]
  return one < other ? -1 : one > other ? 1 : 0
}
