// The fields of a resource that mapping depends on (originals/kappnav.md §2.3).
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'

/** Annotation that qualifies a kind: `Liberty`, `Nodejs`. Compared case-insensitively. */
export const subkindAnnotation = 'kappnav.subkind'

/** Namespace of resources without one. */
const defaultNamespace = 'default'

/** The input of mapping. Absent fields are ''. */
export interface Target {
  /** Without a leading slash. */
  readonly apiVersion: string
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Lower case. */
  readonly subkind: string
  /** '' for a target that is a kind. */
  readonly name: string
  /**
   * `default` for objects of files without one. For cluster-scoped resources, the namespace in which maps of instance
   * level are looked up.
   */
  readonly namespace: string
  /** The resource is cluster-scoped: mappings and rights of a namespace do not concern it. */
  readonly isClusterScoped?: true
  readonly owners: readonly Pick<OwnerReference, 'apiVersion' | 'kind' | 'uid'>[]
}

/**
 * Returns the target of an object of a cluster, where every namespaced object has a namespace. Maps of instance level
 * of cluster-scoped objects are looked up in `namespace`.
 */
export function liveTargetOf(object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>, namespace: string): Target {
  const target = targetOf(object)
  return (object.metadata.namespace ?? '') === '' ? { ...target, namespace, isClusterScoped: true } : target
}

/** Returns the target of an object. Accepts invalid metadata, as objects from files may have. */
export function targetOf(object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): Target {
  const metadata = (object.metadata ?? {}) as KubeObject['metadata']
  const annotations = isJsonObject(metadata.annotations) ? metadata.annotations : {}
  const owners = isJsonArray(metadata.ownerReferences) ? metadata.ownerReferences : []
  return makeTarget({
    apiVersion: stringOf(object.apiVersion as JsonValue),
    kind: stringOf(object.kind as JsonValue),
    subkind: Object.hasOwn(annotations, subkindAnnotation) ? stringOf(annotations[subkindAnnotation]) : '',
    name: stringOf(metadata.name),
    namespace: stringOf(metadata.namespace),
    owners: owners.filter(isJsonObject).map((owner) => ({
      apiVersion: stringOf(owner['apiVersion']),
      kind: stringOf(owner['kind']),
      uid: stringOf(owner['uid']),
    })),
  })
}

/** Returns a target, normalized. */
export function makeTarget(parts: Omit<Target, 'group' | 'version' | 'isClusterScoped'>): Target {
  const apiVersion = parts.apiVersion.startsWith('/') ? parts.apiVersion.slice(1) : parts.apiVersion
  const slash = apiVersion.indexOf('/')
  return {
    ...parts,
    apiVersion,
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: slash < 0 ? apiVersion : apiVersion.slice(slash + 1),
    subkind: parts.subkind.toLowerCase(),
    namespace: parts.namespace === '' ? defaultNamespace : parts.namespace,
  }
}

function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
