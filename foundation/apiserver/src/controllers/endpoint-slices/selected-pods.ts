// The Pods that a Service selects, as endpoints: which of them count, their addresses and ports.
import { isIPv6 } from 'node:net'
import { kind } from '@fairlead/client'
import type { Kind, Service } from '@fairlead/client'
import { isTerminating, jsonEqual } from '@fairlead/kube'
import type { Condition, JsonValue, KubeObject } from '@fairlead/kube'
import { canonicalAddress } from './endpoint-slice.ts'
import type { AddressType } from './endpoint-slice.ts'
import type { EndpointPort } from './repacked-subsets.ts'

interface Container {
  readonly restartPolicy?: string
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[]
}

/** The fields of a `v1 Pod` that its endpoints depend on. */
export interface ServingPod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string
    readonly hostname?: string
    readonly subdomain?: string
    readonly containers?: readonly Container[]
    readonly initContainers?: readonly Container[]
  }
  readonly status?: {
    readonly phase?: string
    readonly podIPs?: readonly { readonly ip?: string }[]
    readonly conditions?: readonly Condition[]
  }
}

type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number] & { readonly appProtocol?: string }

/** The fields of a `v1 Service` that its endpoints depend on. */
export interface SelectingService extends Service {
  readonly spec?: NonNullable<Service['spec']> & {
    readonly ipFamilies?: readonly ('IPv4' | 'IPv6')[]
    readonly publishNotReadyAddresses?: boolean
  }
}

export const ServingPod: Kind<ServingPod> = kind('v1', 'Pod', { plural: 'pods', namespaced: true })
export const SelectingService: Kind<SelectingService> = kind('v1', 'Service', { plural: 'services', namespaced: true })

/** Reports whether Kubernetes makes endpoints for the Service: it has a selector and does not only rename a host. */
export function hasEndpoints({ spec }: SelectingService): boolean {
  return Object.keys(spec?.selector ?? {}).length > 0 && spec?.type !== 'ExternalName'
}

/** Reports whether the Service selects objects with these labels. */
export function selects({ spec }: SelectingService, labels: Readonly<Record<string, string>> = {}): boolean {
  const required = Object.entries(spec?.selector ?? {})
  return required.length > 0 && required.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}

/** Reports whether the Service has no address of its own, so that its name resolves to those of its Pods. */
export function isHeadless({ spec }: SelectingService): boolean {
  return !spec?.clusterIP || spec.clusterIP === 'None'
}

/** Returns the IP families of the Service. */
export function familiesOf({ spec }: SelectingService): readonly ('IPv4' | 'IPv6')[] {
  return spec?.ipFamilies ?? ['IPv4']
}

/** Reports whether the Pod has an address and has not ended. */
export function isServing({ status }: ServingPod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed' && (status?.podIPs?.length ?? 0) > 0
}

/** Reports whether the condition `Ready` of the Pod is True. */
export function isReady({ status }: ServingPod): boolean {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
}

/** Returns the addresses of the Pod in a family, in canonical form. */
export function addressesOf({ status }: ServingPod, family: AddressType): readonly string[] {
  return (status?.podIPs ?? [])
    .map(({ ip = '' }) => canonicalAddress(ip))
    .filter((ip) => (isIPv6(ip) ? 'IPv6' : 'IPv4') === family)
}

/** Returns the reference of an endpoint to its Pod. */
export function podReference({ metadata }: ServingPod): Record<string, string> {
  const { namespace = '', name = '', uid = '' } = metadata
  return { kind: 'Pod', namespace, name, uid }
}

/** Returns the host name that the Pod has below the Service's, if any. */
export function hostnameOf({ spec, metadata }: ServingPod, { metadata: service }: Service): string | undefined {
  return spec?.hostname && spec.subdomain === service.name && metadata.namespace === service.namespace
    ? spec.hostname
    : undefined
}

/** Returns the ports of the Service as numbers of the Pod; those that the Pod does not name are left out. */
export function portsOf({ spec }: SelectingService, pod: ServingPod): readonly EndpointPort[] {
  return (spec?.ports ?? []).flatMap(
    ({ name = '', port, targetPort = port, protocol = 'TCP', appProtocol }: ServicePort) => {
      const number = typeof targetPort === 'number' ? targetPort : portNamed(pod, targetPort, protocol)
      return number === undefined ? [] : [{ name, port: number, protocol, ...(appProtocol && { appProtocol }) }]
    },
  )
}

function portNamed({ spec }: ServingPod, wanted: string, wantedProtocol: string): number | undefined {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...sidecars]
    .flatMap(({ ports = [] }) => ports)
    .find(({ name, protocol = 'TCP' }) => name === wanted && protocol === wantedProtocol)?.containerPort
}

/** Reports whether a change of a Pod can change endpoints. */
export function changesEndpoints(pod: ServingPod, previous: ServingPod): boolean {
  return !jsonEqual(relevant(pod), relevant(previous))
}

function relevant(pod: ServingPod): JsonValue {
  const { hostname = '', subdomain = '', nodeName = '' } = pod.spec ?? {}
  const { labels = {} } = pod.metadata
  const { podIPs = [], phase = '' } = pod.status ?? {}
  return [labels, hostname, subdomain, nodeName, podIPs, phase, isReady(pod), isTerminating(pod)] as JsonValue
}
