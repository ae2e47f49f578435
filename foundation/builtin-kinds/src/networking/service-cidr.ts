// ServiceCIDRs and IPAddresses (pkg/apis/networking/validation, v1.35).
import { isIPv6 } from 'node:net'
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath, jsonEqual, pathSegmentName } from '@fairlead/kube'
import { invalidWith } from '../checks.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { isIpAddress, withoutLeadingZeros } from '../addresses/ip-address.ts'
import type { Strategy } from '../definition/strategy.ts'
import { objectAt, stringAt, stringsAt } from '../fields.ts'
import { isCidr } from '../addresses/cidr.ts'

/** The strategy of ServiceCIDRs: a second range of the other family may be added, nothing else changes. */
export const serviceCidrStrategy: Strategy = {
  keepsStatusOnCreate: true,
  statusKeeps: 'metadata',
  validate: (object) => rangeErrors(rangesOf(object)),
  validateUpdate: (object, old) => rangeChangeErrors(rangesOf(object), rangesOf(old)),
}

/** The strategy of IPAddresses. */
export const ipAddressStrategy: Strategy = {
  validateName: addressProblems,
  validate: (object) => parentErrors('spec.parentRef', objectAt(object, 'spec')['parentRef']),
  validateUpdate(object, old) {
    const [parent, before] = [objectAt(object, 'spec', 'parentRef'), objectAt(old, 'spec', 'parentRef')]
    if (jsonEqual(parent, before)) return []
    return [invalidInternal('spec.parentRef', 'k8s.io.api.networking.v1.ParentReference', parent, 'field is immutable')]
  },
}

const field = 'spec.cidrs'

function rangesOf(object: KubeObject): readonly string[] {
  return stringsAt(object, 'spec', 'cidrs')
}

function rangeErrors(ranges: readonly string[]): FieldError[] {
  if (ranges.length === 0) return [fieldErrors.required(field, 'at least one CIDR required')]
  if (ranges.length > 2) return [fieldErrors.invalid(field, { CIDRs: ranges }, 'may only hold up to 2 values')]
  const errors = ranges.flatMap((range, index) => invalidWith(fieldPath(field, index), range, rangeProblems(range)))
  const families = ranges.filter(isCidr).map((range) => isIPv6(range.split('/')[0]!))
  if (families.length === 2 && families[0] === families[1]) {
    const why = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
    errors.push(fieldErrors.invalid(field, ranges, why))
  }
  return errors
}

function rangeChangeErrors(ranges: readonly string[], old: readonly string[]): FieldError[] {
  const isExtended = old.length === 1 && ranges.length === 2
  if (old.length !== ranges.length && !isExtended)
    return [fieldErrors.invalid(field, ranges.length === 0 ? null : ranges, 'field is immutable')]
  const errors = old.flatMap((range, index) =>
    range === ranges[index] ? [] : [fieldErrors.invalid(fieldPath(field, index), ranges[index], 'field is immutable')],
  )
  return isExtended ? [...errors, ...rangeErrors(ranges)] : errors
}

function rangeProblems(range: string): string[] {
  if (!isCidr(range)) return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']
  const [address = '', bits = ''] = range.split('/')
  if (withoutLeadingZeros(address) !== address || /^0\d/.test(bits))
    return ['must not have leading 0s in IP or prefix length']
  if (isMapped(address)) return ['must not have an IPv4-mapped IPv6 address']
  if (!isNetwork(address, Number(bits))) return ['must not have bits set beyond the prefix length']
  const canonical = `${canonicalAddress(address)}/${Number(bits)}`
  return canonical === range ? [] : [`must be in canonical form ("${canonical}")`]
}

function parentErrors(path: string, parent: JsonValue | undefined): FieldError[] {
  if (parent === undefined || parent === null) return [fieldErrors.required(path)]
  const reference = parent as JsonObject
  const group = stringAt(reference, 'group')
  const errors = group === '' ? [] : invalidWith(`${path}.group`, group, dns1123Subdomain(group))
  for (const name of ['resource', 'name', 'namespace']) {
    const value = stringAt(reference, name)
    if (value !== '') errors.push(...invalidWith(`${path}.${name}`, value, pathSegmentName(value)))
    else if (name !== 'namespace') errors.push(fieldErrors.required(`${path}.${name}`))
  }
  return errors
}

/** Returns what is wrong with the name of an IPAddress. */
function addressProblems(name: string): string[] {
  if (!isIpAddress(name)) return ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']
  if (withoutLeadingZeros(name) !== name) return ['must not have leading 0s']
  if (isMapped(name)) return ['must not be an IPv4-mapped IPv6 address']
  const canonical = canonicalAddress(name)
  return canonical === name ? [] : [`must be in canonical form ("${canonical}")`]
}

function isMapped(address: string): boolean {
  return /^(0*:)*(:|0*:)ffff:/i.test(address) && isIPv6(address)
}

/** Returns the address as RFC 5952 writes it. */
function canonicalAddress(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address
}

/** Reports whether an address has no bits set beyond the prefix. */
function isNetwork(address: string, prefix: number): boolean {
  const bits = isIPv6(address)
    ? ipv6Bits(address)
    : address
        .split('.')
        .map((part) => inBits(Number(part), 8))
        .join('')
  return !bits.slice(prefix).includes('1')
}

function ipv6Bits(address: string): string {
  const halves = canonicalAddress(address).split('::')
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const zeros = halves.length === 1 ? [] : Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].map((group) => inBits(Number.parseInt(group, 16), 16)).join('')
}

function inBits(value: number, width: number): string {
  return value.toString(2).padStart(width, '0')
}
