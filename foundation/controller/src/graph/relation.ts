// Relations: the edges of the graph of derived objects, and the sources that capabilities find them with.
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ObjectReference } from '../object-reference.ts'
import type { ObjectReader } from './object-reader.ts'
import type { ObjectState } from './object-state.ts'

/**
 * Types of {@link Relation}, read from `from` to `to`:
 * - `made-from`: `from` is an output that a controller made from `to`;
 * - `refers-to`: `from` names `to` in a field;
 * - `upstream-of`: `to` follows the content of `from`;
 * - `input-of`: `from` is read by the controller, blueprint or mapping `to`.
 */
export type RelationType = 'made-from' | 'refers-to' | 'upstream-of' | 'input-of'

/** A directed edge of the graph of derived objects. */
export interface Relation {
  readonly type: RelationType
  readonly from: ObjectReference
  readonly to: ObjectReference
  /**
   * True when a controller reports that the relation holds, whatever the state of its ends; else what it waits for. The
   * states of its ends decide when left out.
   */
  readonly holds?: true | RelationProblem
}

/** The reason why a relation does not hold, as a controller reports it. */
export interface RelationProblem {
  readonly reason: string
  readonly message: string
}

/** A group (core: '') and a kind. */
export interface GroupKind {
  readonly group: string
  readonly kind: string
}

/** The relations of a capability: it reads with the rights of the user that asks, and needs no running controller. */
export interface RelationSource {
  /**
   * Returns the edges that begin or end at an object, as far as the reader can read. Concludes nothing from what it
   * cannot read; the reader keeps what that was.
   */
  relations(object: KubeObject, read: ObjectReader): Promise<readonly Relation[]>
  /** Returns the state of an object that its conditions do not show, such as a draft that waits for approval. */
  stateOf?(object: KubeObject): ObjectState | undefined
  /** Kinds that show objects of another kind in another form: they are not searched for owner references. */
  readonly views?: readonly GroupKind[]
}

/** Returns a string that is equal for references to one object only, in whatever version. */
export function referenceKey({ apiVersion, kind, namespace = '', name }: ObjectReference): string {
  return `${parseApiVersion(apiVersion).group}/${kind}/${namespace}/${name}`
}

/**
 * Returns what comes first of a relation, and what comes of it: an output comes of its input, an object of what it
 * refers to. Controllers and blueprints, which are cluster-scoped, come before the objects that they read; a namespaced
 * reader comes of its inputs.
 */
export function orderOf({ type, from, to }: Relation): {
  readonly first: ObjectReference
  readonly second: ObjectReference
} {
  const isForwards = type === 'upstream-of' || (type === 'input-of' && to.namespace !== undefined)
  return isForwards ? { first: from, second: to } : { first: to, second: from }
}

/** Returns the object that an object waits for along one of its relations; undefined when it is the one waited for. */
export function dependencyOf(relation: Relation, object: string): ObjectReference | undefined {
  const { first, second } = orderOf(relation)
  // What makes objects waits for them; they do not wait for it.
  const [waiting, waitedFor] = relation.type === 'made-from' ? [first, second] : [second, first]
  return referenceKey(waiting) === object ? waitedFor : undefined
}
