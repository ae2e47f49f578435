// Validation of the traffic fields of a service: load balancers, external addresses, policies, families
// (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import { invalidWith, oneOf, repeatedIndices } from '../checks.ts'
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
  if (has(spec, 'loadBalancerClass')) {
    const name = stringAt(spec, 'loadBalancerClass')
    if (isBalanced) errors.push(...invalidWith('spec.loadBalancerClass', name, qualifiedName(name)))
    else onlyBalanced('spec.loadBalancerClass')
  }
  errors.push(...externalPolicyErrors(spec, type))
  if (has(spec, 'trafficDistribution'))
    errors.push(
      ...oneOf('spec.trafficDistribution', stringAt(spec, 'trafficDistribution'), [
        'PreferClose',
        'PreferSameZone',
        'PreferSameNode',
      ]),
    )
  return [...errors, ...familyErrors(spec, type)]
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
  else if (policy !== '')
    errors.push(
      fieldErrors.invalid('spec.externalTrafficPolicy', policy, 'may only be set for externally-accessible services'),
    )
  const port = numberAt(spec, 'healthCheckNodePort') ?? 0
  if (port !== 0 && !(type === 'LoadBalancer' && policy === 'Local'))
    errors.push(
      fieldErrors.invalid(
        'spec.healthCheckNodePort',
        port,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    )
  return errors
}

/** Validates IP families; this server allocates only IPv4 addresses. */
function familyErrors(spec: JsonObject, type: string): FieldError[] {
  if (type === 'ExternalName') return []
  const errors: FieldError[] = []
  const families = stringsAt(spec, 'ipFamilies')
  const [single, addresses] = [stringAt(spec, 'clusterIP'), stringsAt(spec, 'clusterIPs')]
  const isFreeHeadless = single === 'None' && Object.keys(objectAt(spec, 'selector')).length === 0
  const repeated = repeatedIndices(families)
  for (const [index, family] of families.entries()) {
    const field = fieldPath('spec.ipFamilies', index)
    if (repeated.has(index)) errors.push(fieldErrors.duplicate(field, family))
    else if (family !== 'IPv4' && family !== 'IPv6') errors.push(...oneOf(field, family, ['IPv4', 'IPv6']))
  }
  if (has(spec, 'ipFamilyPolicy'))
    errors.push(
      ...oneOf('spec.ipFamilyPolicy', stringAt(spec, 'ipFamilyPolicy'), [
        'PreferDualStack',
        'RequireDualStack',
        'SingleStack',
      ]),
    )
  if (single === '' && addresses.length > 0)
    errors.push(
      fieldErrors.invalid('spec.clusterIPs', [...addresses], 'must be empty when `clusterIP` is not specified'),
    )
  else if (addresses.length > 0 && addresses[0] !== single)
    errors.push(fieldErrors.invalid('spec.clusterIPs', [...addresses], 'first value must match `clusterIP`'))
  if (errors.length > 0 || isFreeHeadless) return errors
  for (const [index, address] of addresses.entries()) {
    const family = families[index]
    if (!isIpAddress(address) || family === undefined || (family === 'IPv6') === address.includes(':')) continue
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``
    errors.push(fieldErrors.invalid(fieldPath('spec.clusterIPs', index), address, detail))
  }
  if (errors.length > 0) return errors
  for (const [index, family] of families.entries())
    if (family === 'IPv6')
      errors.push(fieldErrors.invalid(fieldPath('spec.ipFamilies', index), family, 'not configured on this cluster'))
  if (spec['ipFamilyPolicy'] === 'RequireDualStack')
    errors.push(
      fieldErrors.invalid(
        'spec.ipFamilyPolicy',
        'RequireDualStack',
        'this cluster is not configured for dual-stack services',
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
