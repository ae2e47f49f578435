// Services, ingresses, endpoints and policies in `kubectl get`.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { TablePrinter } from '../definition/resource-definition.ts'
import { has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { labelsCell, none, objectAge, orNone, printer, selectorCell } from './column.ts'

/** Services. */
export const servicePrinter: TablePrinter = printer(
  ['Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age'],
  ['Selector'],
  (object, now) => [
    stringAt(object, 'spec', 'type'),
    orNone(stringAt(object, 'spec', 'clusterIP')),
    externalAddress(object),
    servicePorts(objectsAt(object, 'spec', 'ports')),
    objectAge(object, now),
    labelsCell(mapAt(object, 'spec', 'selector')),
  ],
)

function externalAddress(object: KubeObject): string {
  const external = stringsAt(object, 'spec', 'externalIPs')
  switch (stringAt(object, 'spec', 'type')) {
    case 'LoadBalancer': {
      const addresses = [...loadBalancerAddresses(object), ...external]
      return addresses.length > 0 ? addresses.join(',') : '<pending>'
    }
    case 'ExternalName':
      return stringAt(object, 'spec', 'externalName')
    default:
      return orNone(external.join(','))
  }
}

function loadBalancerAddresses(object: KubeObject): string[] {
  const addresses = objectsAt(object, 'status', 'loadBalancer', 'ingress').map(
    (entry) => stringAt(entry, 'ip') || stringAt(entry, 'hostname'),
  )
  return [...new Set(addresses.filter((address) => address !== ''))].toSorted()
}

function servicePorts(ports: readonly JsonObject[]): string {
  const entries = ports.map((port) => {
    const node = numberAt(port, 'nodePort') ?? 0
    return `${numberAt(port, 'port') ?? 0}${node > 0 ? `:${node}` : ''}/${stringAt(port, 'protocol')}`
  })
  return orNone(entries.join(','))
}

/** Ingresses. */
export const ingressPrinter: TablePrinter = printer(
  ['Class', 'Hosts', 'Address', 'Ports', 'Age'],
  [],
  (object, now) => {
    return [
      orNone(stringAt(object, 'spec', 'ingressClassName')),
      hostsOf(objectsAt(object, 'spec', 'rules')),
      loadBalancerAddresses(object).join(','),
      objectsAt(object, 'spec', 'tls').length > 0 ? '80, 443' : '80',
      objectAge(object, now),
    ]
  },
)

/** Formats the first three hosts. Like the real server, it counts the rules without a host among those left out. */
function hostsOf(rules: readonly JsonObject[]): string {
  const hosts: string[] = []
  let hasMore = false
  for (const rule of rules) {
    if (hosts.length === 3) hasMore = true
    const host = stringAt(rule, 'host')
    if (!hasMore && host !== '') hosts.push(host)
  }
  if (hosts.length === 0) return '*'
  return hasMore ? `${hosts.join(',')} + ${rules.length - 3} more...` : hosts.join(',')
}

/** IngressClasses. */
export const ingressClassPrinter: TablePrinter = printer(['Controller', 'Parameters', 'Age'], [], (object, now) => {
  const parameters = objectAt(object, 'spec', 'parameters')
  const group = stringAt(parameters, 'apiGroup')
  const shown = has(parameters, 'kind')
    ? `${stringAt(parameters, 'kind')}${group === '' ? '' : `.${group}`}/${stringAt(parameters, 'name')}`
    : none
  return [stringAt(object, 'spec', 'controller'), shown, objectAge(object, now)]
})

/** NetworkPolicies. */
export const networkPolicyPrinter: TablePrinter = printer(['Pod-Selector', 'Age'], [], (object, now) => [
  selectorCell(objectAt(object, 'spec', 'podSelector')),
  objectAge(object, now),
])

/** Endpoints: the first three addresses and the number of others. */
export const endpointsPrinter: TablePrinter = printer(['Endpoints', 'Age'], [], (object, now) => {
  const found = objectsAt(object, 'subsets').flatMap((subset) => {
    const addresses = objectsAt(subset, 'addresses').map((address) => stringAt(address, 'ip'))
    const ports = objectsAt(subset, 'ports')
    if (ports.length === 0) return addresses
    return ports.flatMap((port) =>
      addresses.map((address) => `${address.includes(':') ? `[${address}]` : address}:${numberAt(port, 'port') ?? 0}`),
    )
  })
  return [objectsAt(object, 'subsets').length === 0 ? none : firstThree(found), objectAge(object, now)]
})

/** EndpointSlices. */
export const endpointSlicePrinter: TablePrinter = printer(
  ['AddressType', 'Ports', 'Endpoints', 'Age'],
  [],
  (object, now) => [
    stringAt(object, 'addressType'),
    slicePorts(objectsAt(object, 'ports')),
    sliceAddresses(object),
    objectAge(object, now),
  ],
)

function slicePorts(ports: readonly JsonObject[]): string {
  const shown = ports.map((port) =>
    String(numberAt(port, 'port') ?? (has(port, 'name') ? stringAt(port, 'name') : '*')),
  )
  return firstThree(shown) || '<unset>'
}

function sliceAddresses(object: KubeObject): string {
  const addresses = objectsAt(object, 'endpoints').flatMap((endpoint) => stringsAt(endpoint, 'addresses'))
  return firstThree(addresses) || '<unset>'
}

function firstThree(entries: readonly string[]): string {
  return entries.length > 3 ? `${entries.slice(0, 3).join(',')} + ${entries.length - 3} more...` : entries.join(',')
}

/** IPAddresses. Like the real server, a row has the age for which there is no column. */
export const ipAddressPrinter: TablePrinter = printer(['ParentRef'], [], (object, now) => {
  const parent = objectAt(object, 'spec', 'parentRef')
  const group = stringAt(parent, 'group')
  const resource = `${stringAt(parent, 'resource')}${group === '' ? '' : `.${group}`}`.toLowerCase()
  const namespace = stringAt(parent, 'namespace')
  const name = `${namespace === '' ? '' : `${namespace}/`}${stringAt(parent, 'name')}`
  return [has(objectAt(object, 'spec'), 'parentRef') ? `${resource}/${name}` : none, objectAge(object, now)]
})

/** ServiceCIDRs. */
export const serviceCidrPrinter: TablePrinter = printer(['CIDRs', 'Age'], [], (object, now) => [
  stringsAt(object, 'spec', 'cidrs').join(','),
  objectAge(object, now),
])
