// Validation of the traffic fields of a service: load balancers, external addresses, policies, families
// (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import { invalidWith, oneOf, repeatedIndices } from '../checks.ts'
import { has, numberAt, objectAt, stringAt, stringsAt } from '../fields.ts'
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
  for (const [index, range] of isBalanced ? ranges.entries() : [])
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

/** Returns the warnings about deprecated values. */
export function trafficWarnings(spec: JsonObject, old: KubeObject | undefined): string[] {
  const warnings: string[] = []
  if (spec['trafficDistribution'] === 'PreferClose' && old === undefined)
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
  return warnings
}
