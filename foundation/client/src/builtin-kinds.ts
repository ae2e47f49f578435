// Kinds that Fairlead itself speaks of. Their types name only the fields that are used; all other fields are there,
// untyped.
import type { Condition, KubeObject } from '@fairlead/kube'
import { kind } from './kind.ts'
import type { Kind } from './kind.ts'

/** `v1 Namespace`. */
export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string }
}
/** `v1 ConfigMap`. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
  readonly immutable?: boolean
}
/** `v1 Secret`; `data` is base64. */
export interface Secret extends KubeObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  readonly immutable?: boolean
}
/** `v1 Service`. */
export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string
    readonly clusterIP?: string
    readonly externalName?: string
    readonly selector?: Readonly<Record<string, string>>
    readonly ports?: readonly {
      readonly name?: string
      readonly port: number
      readonly targetPort?: number | string
      readonly protocol?: string
    }[]
  }
}
/** `v1 ServiceAccount`. */
export interface ServiceAccount extends KubeObject {}
/** `v1 Pod`. */
export interface Pod extends KubeObject {
  readonly spec?: { readonly [field: string]: unknown }
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] }
}
/** `apps/v1 Deployment`. */
export interface Deployment extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly [field: string]: unknown }
  readonly status?: {
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly availableReplicas?: number
    readonly updatedReplicas?: number
    readonly conditions?: readonly Condition[]
  }
}
/** `coordination.k8s.io/v1 Lease`. Times are RFC 3339 with six decimals. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}
/** `events.k8s.io/v1 Event`. */
export interface KubeEvent extends KubeObject {
  readonly eventTime?: string
  readonly type?: string
  readonly reason?: string
  readonly action?: string
  readonly note?: string
  readonly reportingController?: string
  readonly reportingInstance?: string
  readonly regarding?: { readonly [field: string]: string }
  readonly related?: { readonly [field: string]: string }
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
}
/** `apiextensions.k8s.io/v1 CustomResourceDefinition`. */
export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string; readonly plural: string; readonly singular?: string }
    readonly scope: 'Namespaced' | 'Cluster'
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[]
  }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

export const Namespace: Kind<Namespace> = kind('v1', 'Namespace', { plural: 'namespaces', namespaced: false })
export const ConfigMap: Kind<ConfigMap> = kind('v1', 'ConfigMap', { plural: 'configmaps', namespaced: true })
export const Secret: Kind<Secret> = kind('v1', 'Secret', { plural: 'secrets', namespaced: true })
export const Service: Kind<Service> = kind('v1', 'Service', { plural: 'services', namespaced: true })
export const ServiceAccount: Kind<ServiceAccount> = kind('v1', 'ServiceAccount', {
  plural: 'serviceaccounts',
  namespaced: true,
})
export const Pod: Kind<Pod> = kind('v1', 'Pod', { plural: 'pods', namespaced: true })
export const Deployment: Kind<Deployment> = kind('apps/v1', 'Deployment', { plural: 'deployments', namespaced: true })
export const Lease: Kind<Lease> = kind('coordination.k8s.io/v1', 'Lease', { plural: 'leases', namespaced: true })
export const KubeEvent: Kind<KubeEvent> = kind('events.k8s.io/v1', 'Event', { plural: 'events', namespaced: true })
export const CustomResourceDefinition: Kind<CustomResourceDefinition> = kind(
  'apiextensions.k8s.io/v1',
  'CustomResourceDefinition',
  {
    plural: 'customresourcedefinitions',
    namespaced: false,
  },
)

/** All of the above: what needs no discovery. */
export const builtinKinds: readonly Kind[] = [
  Namespace,
  ConfigMap,
  Secret,
  Service,
  ServiceAccount,
  Pod,
  Deployment,
  Lease,
  KubeEvent,
  CustomResourceDefinition,
]
