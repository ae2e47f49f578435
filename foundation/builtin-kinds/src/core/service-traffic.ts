// Validation of the traffic fields of a service: load balancers, external addresses, policies, families
// (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import { invalidWith, oneOf, portNumber } from '../checks.ts'
import { balancerAddressErrors, balancerHostErrors } from '../addresses/balancer-address.ts'
import { has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { addressWarnings, rangeWarnings } from '../addresses/address-warnings.ts'
import { isCidr } from '../addresses/cidr.ts'
import { specialAddressErrors } from '../addresses/special-address.ts'
import { isIpAddress } from '../addresses/ip-address.ts'

/** Validates the traffic fields of a service's spec. */
export function trafficErrors(spec: JsonObject): FieldError[] {
  const type = stringAt(spec, 'type')
  const isBalanced = type === 'LoadBalancer'
  const errors: FieldError[] = []
  if (stringAt(spec, 'sessionAffinity') === 'ClientIP') errors.push(...affinityErrors(spec))
  for (const [index, ip] of stringsAt(spec, 'externalIPs').entries()) {
    const field = fieldPath('spec.externalIPs', index)
    errors.push(
      ...(isIpAddress(ip)
        ? specialAddressErrors(field, ip)
        : [fieldErrors.invalid(field, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]),
    )
  }
  const onlyBalanced = (field: string): number =>
    errors.push(fieldErrors.forbidden(field, "may only be used when `type` is 'LoadBalancer'"))
  const ranges = stringsAt(spec, 'loadBalancerSourceRanges')
  if (ranges.length > 0 && !isBalanced) onlyBalanced('spec.LoadBalancerSourceRanges')
  for (const [index, range] of ranges.entries())
    if (!isCidr(range.trim()))
      errors.push(
        fieldErrors.invalid(
          fieldPath('spec.LoadBalancerSourceRanges', index),
          range,
          'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        ),
      )
  if (has(spec, 'allocateLoadBalancerNodePorts') && !isBalanced) onlyBalanced('spec.allocateLoadBalancerNodePorts')
  errors.push(...balancerClassErrors(spec))
  errors.push(...externalPolicyErrors(spec, type))
  if (has(spec, 'trafficDistribution'))
    errors.push(
      ...oneOf('spec.trafficDistribution', stringAt(spec, 'trafficDistribution'), [
        'PreferClose',
        'PreferSameZone',
        'PreferSameNode',
      ]),
    )
  return errors
}

/** Validates the class of a load balancer, which does not change; `old` is the spec before an update. */
export function balancerClassErrors(spec: JsonObject, old: JsonObject = {}): FieldError[] {
  const field = 'spec.loadBalancerClass'
  const isBalanced = spec['type'] === 'LoadBalancer'
  const errors: FieldError[] = []
  if (isBalanced && old['type'] === 'LoadBalancer' && spec['loadBalancerClass'] !== old['loadBalancerClass'])
    errors.push(fieldErrors.invalid(field, spec['loadBalancerClass'] ?? null, 'may not change once set'))
  if (!has(spec, 'loadBalancerClass')) return errors
  const name = stringAt(spec, 'loadBalancerClass')
  return isBalanced
    ? [...errors, ...invalidWith(field, name, qualifiedName(name))]
    : [...errors, fieldErrors.forbidden(field, "may only be used when `type` is 'LoadBalancer'")]
}

function affinityErrors(spec: JsonObject): FieldError[] {
  const seconds = numberAt(spec, 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds') ?? 0
  return seconds > 0 && seconds <= 86_400
    ? []
    : [
        fieldErrors.invalid(
          'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
          seconds,
          'must be greater than 0 and less than 86400',
        ),
      ]
}

function externalPolicyErrors(spec: JsonObject, type: string): FieldError[] {
  const policy = stringAt(spec, 'externalTrafficPolicy')
  const isReached =
    type === 'LoadBalancer' ||
    type === 'NodePort' ||
    (type === 'ClusterIP' && stringsAt(spec, 'externalIPs').length > 0)
  const errors: FieldError[] = []
  if (isReached) errors.push(...oneOf('spec.externalTrafficPolicy', policy, ['Cluster', 'Local'], 'required'))
  else if (policy !== '' && ['ClusterIP', 'ExternalName'].includes(type))
    errors.push(
      fieldErrors.invalid('spec.externalTrafficPolicy', policy, 'may only be set for externally-accessible services'),
    )
  const port = numberAt(spec, 'healthCheckNodePort') ?? 0
  if (type === 'LoadBalancer' && policy === 'Local') {
    if (port !== 0) errors.push(...portNumber('spec.healthCheckNodePort', port))
  } else if (port !== 0)
    errors.push(
      fieldErrors.invalid(
        'spec.healthCheckNodePort',
        port,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    )
  return errors
}

/** Validates the addresses of a load balancer in a service's status. */
export function balancerStatusErrors(object: KubeObject): FieldError[] {
  const path = 'status.loadBalancer.ingress'
  const points = objectsAt(object, 'status', 'loadBalancer', 'ingress')
  if (stringAt(object, 'spec', 'type') !== 'LoadBalancer')
    return points.length === 0
      ? []
      : [fieldErrors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
  return points.flatMap((point, index) => {
    const place = fieldPath(path, index)
    const [ip, mode] = [stringAt(point, 'ip'), `${place}.ipMode`]
    const errors = balancerAddressErrors(`${place}.ip`, ip)
    if (!has(point, 'ipMode')) {
      if (ip !== '') errors.push(fieldErrors.required(mode, 'must be specified when `ip` is set'))
    } else if (ip === '') errors.push(fieldErrors.forbidden(mode, 'may not be specified when `ip` is not set'))
    else errors.push(...oneOf(mode, stringAt(point, 'ipMode'), ['Proxy', 'VIP']))
    return [...errors, ...balancerHostErrors(`${place}.hostname`, stringAt(point, 'hostname'))]
  })
}

/** Returns the warnings about values that are deprecated, ignored or not canonical. */
export function trafficWarnings({ metadata, ...object }: KubeObject): string[] {
  const spec = objectAt(object, 'spec')
  const type = stringAt(spec, 'type')
  const external = stringsAt(spec, 'externalIPs')
  const balancer = stringAt(spec, 'loadBalancerIP')
  const warnings: string[] = []
  if (metadata.annotations?.[topologyHints] !== undefined)
    warnings.push(`annotation ${topologyHints} is deprecated, please use service.kubernetes.io/topology-mode instead`)
  const addresses = stringsAt(spec, 'clusterIPs')
  if (addresses[0] !== undefined && addresses[0] !== 'None')
    for (const [index, ip] of addresses.entries())
      warnings.push(...addressWarnings(fieldPath('spec.clusterIPs', index), ip))
  if (type === 'ClusterIP' && stringAt(spec, 'clusterIP') === 'None') {
    if (balancer !== '') warnings.push('spec.loadBalancerIP is ignored for headless services')
    if (external.length > 0) warnings.push('spec.externalIPs is ignored for headless services')
    if (spec['sessionAffinity'] !== 'None') warnings.push('spec.SessionAffinity is ignored for headless services')
  }
  for (const [index, ip] of external.entries())
    warnings.push(...addressWarnings(fieldPath('spec.externalIPs', index), ip))
  warnings.push(...addressWarnings('spec.loadBalancerIP', balancer))
  for (const [index, range] of stringsAt(spec, 'loadBalancerSourceRanges').entries())
    warnings.push(...rangeWarnings(fieldPath('spec.loadBalancerSourceRanges', index), range.trim()))
  if (type === 'ExternalName' && external.length > 0)
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"')
  if (type !== 'ExternalName' && stringAt(spec, 'externalName') !== '')
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"')
  if (spec['trafficDistribution'] === 'PreferClose')
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
  return warnings
}

const topologyHints = 'service.kubernetes.io/topology-aware-hints'
