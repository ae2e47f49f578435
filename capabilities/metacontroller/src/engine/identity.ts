// The identity of an object, independent of its version and uid: map keys and tags are made from it (Q6).
import type { KubeObject } from '@fairlead/kube'
import { parseApiVersion } from '@fairlead/kube'

/** Group (core: ''), kind, namespace (cluster-scoped: '') and name. */
export interface Identity {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Returns the identity of an object. */
export function identityOf(object: KubeObject): Identity {
  return {
    group: parseApiVersion(object.apiVersion).group,
    kind: object.kind,
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
  }
}

/**
 * Returns `Kind.group/namespace/name`; the group is left out for the core group, the namespace for cluster-scoped
 * objects.
 */
export function formatIdentity({ group, kind, namespace, name }: Identity): string {
  return `${group === '' ? kind : `${kind}.${group}`}/${namespace === '' ? name : `${namespace}/${name}`}`
}

/** The inverse of {@link formatIdentity}; undefined for a string of another form. */
export function parseIdentity(identity: string): Identity | undefined {
  const parts = identity.split('/')
  const [type = '', first = '', second] = parts
  if (parts.length < 2 || parts.length > 3 || type === '' || first === '' || second === '') return undefined
  const dot = type.indexOf('.')
  return {
    group: dot < 0 ? '' : type.slice(dot + 1),
    kind: dot < 0 ? type : type.slice(0, dot),
    namespace: second === undefined ? '' : first,
    name: second ?? first,
  }
}
