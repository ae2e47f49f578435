// What mapping looks at in a resource (originals/kappnav.md §2.3).
import type { JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { isJsonArray, isJsonObject } from '@fairlead/kube'

/** Annotation that qualifies a kind: `Liberty`, `Nodejs`. Compared without regard to case. */
export const subkindAnnotation = 'kappnav.subkind'

/** The namespace of resources that have none. */
const namespaceOfNone = 'default'

/** The inputs of mapping. Absent parts are ''. */
export interface Target {
  /** Without a leading slash. */
  readonly apiVersion: string
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Lower case. */
  readonly subkind: string
  /** '' for a question about a kind. */
  readonly name: string
  /** `default` for cluster-scoped resources. */
  readonly namespace: string
  readonly owners: readonly Pick<OwnerReference, 'apiVersion' | 'kind' | 'uid'>[]
}

/** The target of an object; tolerates any form of metadata, also that of objects that no server has seen. */
export function targetOf(object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): Target {
  const metadata = (object.metadata ?? {}) as KubeObject['metadata']
  const annotations = isJsonObject(metadata.annotations) ? metadata.annotations : {}
  const owners = isJsonArray(metadata.ownerReferences) ? metadata.ownerReferences : []
  return makeTarget({
    apiVersion: textOf(object.apiVersion as JsonValue),
    kind: textOf(object.kind as JsonValue),
    subkind: Object.hasOwn(annotations, subkindAnnotation) ? textOf(annotations[subkindAnnotation]) : '',
    name: textOf(metadata.name),
    namespace: textOf(metadata.namespace),
    owners: owners.filter(isJsonObject).map((owner) => ({
      apiVersion: textOf(owner['apiVersion']),
      kind: textOf(owner['kind']),
      uid: textOf(owner['uid']),
    })),
  })
}

/** A target from its parts, brought into its normal form. */
export function makeTarget(parts: Omit<Target, 'group' | 'version'>): Target {
  const apiVersion = parts.apiVersion.startsWith('/') ? parts.apiVersion.slice(1) : parts.apiVersion
  const slash = apiVersion.indexOf('/')
  return {
    ...parts,
    apiVersion,
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: slash < 0 ? apiVersion : apiVersion.slice(slash + 1),
    subkind: parts.subkind.toLowerCase(),
    namespace: parts.namespace === '' ? namespaceOfNone : parts.namespace,
  }
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
