// The IP families and cluster IPs of a service: what the real server checks and fills in before the rest of the service
// (pkg/registry/core/service/storage, v1.35). This server allocates IPv4 addresses alone.
import type { FieldError, JsonObject, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath } from '@fairlead/kube'
import { oneOf } from '../checks.ts'
import { isIpAddress } from '../addresses/ip-address.ts'
import { fill, has, mapAt, stringAt, stringsAt } from '../fields.ts'

const families = ['IPv4', 'IPv6']
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']

/** Returns the errors of families and addresses, which are reported alone. */
export function familyErrors(spec: JsonObject): FieldError[] {
  if (stringAt(spec, 'type') === 'ExternalName') {
    const field = (name: string): FieldError[] =>
      has(spec, name) && (name === 'ipFamilyPolicy' || stringsAt(spec, name).length > 0)
        ? [fieldErrors.forbidden(`spec.${name}`, 'may not be set for ExternalName services')]
        : []
    return ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy'].flatMap(field)
  }
  const errors = [...valueErrors(spec), ...addressErrors(spec)]
  return errors.length > 0 || isFreeHeadless(spec) ? errors : clusterErrors(spec)
}

/** Sets the missing families and their policy; the families of a service without selector and address are any. */
export function fillFamilies(spec: MutableJsonObject): void {
  if (!isFreeHeadless(spec)) {
    fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' })
    return
  }
  fill(spec, { ipFamilyPolicy: 'RequireDualStack' })
  const given = stringsAt(spec, 'ipFamilies')
  const [first = 'IPv4', second = first === 'IPv4' ? 'IPv6' : 'IPv4'] = given
  spec['ipFamilies'] = spec['ipFamilyPolicy'] === 'SingleStack' && given.length < 2 ? [first] : [first, second]
}

function isFreeHeadless(spec: JsonObject): boolean {
  return stringsAt(spec, 'clusterIPs')[0] === 'None' && Object.keys(mapAt(spec, 'selector')).length === 0
}

function valueErrors(spec: JsonObject): FieldError[] {
  const seen = new Set<string>()
  const errors = stringsAt(spec, 'ipFamilies').flatMap((family, index) => {
    const field = fieldPath('spec.ipFamilies', index)
    const repeated = seen.has(family) ? [fieldErrors.duplicate(field, family)] : []
    seen.add(family)
    return [...oneOf(field, family, families), ...repeated]
  })
  return has(spec, 'ipFamilyPolicy')
    ? [...errors, ...oneOf('spec.ipFamilyPolicy', stringAt(spec, 'ipFamilyPolicy'), policies)]
    : errors
}

function addressErrors(spec: JsonObject): FieldError[] {
  const single = stringAt(spec, 'clusterIP')
  const addresses = stringsAt(spec, 'clusterIPs')
  const given = stringsAt(spec, 'ipFamilies')
  const field = 'spec.clusterIPs'
  const errors: FieldError[] = []
  const invalid = (detail: string): number => errors.push(fieldErrors.invalid(field, [...addresses], detail))
  if (single === '' && addresses.length > 0) invalid('must be empty when `clusterIP` is not specified')
  else if (addresses.length > 0 && addresses[0] !== single) invalid('first value must match `clusterIP`')
  const isHeadless = addresses[0] === 'None'
  if (isHeadless && addresses.length > 1) invalid("'None' must be the first and only value")
  const wrong = addresses.flatMap((address, index) =>
    (index === 0 && isHeadless) || isIpAddress(address)
      ? []
      : [
          fieldErrors.invalid(
            fieldPath(field, index),
            address,
            'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
          ),
        ],
  )
  errors.push(...wrong)
  if (addresses.length > 2) invalid('may only hold up to 2 values')
  if (wrong.length > 0 || (isHeadless && addresses.length > 1)) return errors
  if (addresses.length > 1 && new Set(addresses.map(familyOf)).size < 2)
    invalid('may specify no more than one IP for each IP family')
  if (isHeadless || given.some((family) => !families.includes(family))) return errors
  for (const [index, address] of addresses.entries()) {
    const family = given[index]
    if (family === undefined || familyOf(address) === family) continue
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``
    errors.push(fieldErrors.invalid(fieldPath(field, index), address, detail))
  }
  return errors
}

function familyOf(address: string): string {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

/** Validates families and addresses against those of this cluster. */
function clusterErrors(spec: JsonObject): FieldError[] {
  const addresses = stringsAt(spec, 'clusterIPs').filter((address) => address !== 'None')
  const given = stringsAt(spec, 'ipFamilies')
  const policy = stringAt(spec, 'ipFamilyPolicy') || 'SingleStack'
  const errors: FieldError[] = []
  const needsTwo = (what: string): number =>
    errors.push(
      fieldErrors.invalid(
        'spec.ipFamilyPolicy',
        policy,
        `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
      ),
    )
  if (policy === 'SingleStack' && addresses.length > 1) needsTwo('cluster IPs')
  else if (policy === 'SingleStack' && given.length > 1) needsTwo('IP families')
  for (const [index, address] of addresses.entries()) {
    if (given[index] !== undefined || familyOf(address) === 'IPv4') continue
    const detail = 'IPv6 is not configured on this cluster'
    errors.push(fieldErrors.invalid(fieldPath('spec.clusterIPs', index), [...addresses], detail))
  }
  if (errors.length > 0) return errors
  for (const [index, family] of given.entries())
    if (family === 'IPv6')
      errors.push(fieldErrors.invalid(fieldPath('spec.ipFamilies', index), family, 'not configured on this cluster'))
  if (policy === 'RequireDualStack')
    errors.push(
      fieldErrors.invalid('spec.ipFamilyPolicy', policy, 'this cluster is not configured for dual-stack services'),
    )
  return errors
}
