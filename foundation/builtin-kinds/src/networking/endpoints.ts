// Endpoints and EndpointSlices.
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, goQuote, labelValue, qualifiedName, jsonEqual } from '@fairlead/kube'
import { addressWarnings, canonicalAddress } from '../addresses/address-warnings.ts'
import { isIpAddress } from '../addresses/ip-address.ts'
import { specialAddressErrors } from '../addresses/special-address.ts'
import type { Strategy } from '../definition/strategy.ts'
import { immutable, invalidWith, labelName, oneOf, portNumber, subdomainName } from '../checks.ts'
import { draftsAt, fill, fillStrings, has, numberAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

const ipMessage = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'

/** The strategy of Endpoints. */
export const endpointsStrategy: Strategy = {
  allowCreateOnUpdate: true,
  applyDefaults(object) {
    for (const subset of draftsAt(object, 'subsets'))
      for (const port of draftsAt(subset, 'ports')) fillStrings(port, { protocol: 'TCP' })
  },
  warnings(object) {
    if (object.metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller') return []
    return objectsAt(object, 'subsets').flatMap((subset, index) =>
      ['addresses', 'notReadyAddresses'].flatMap((list) =>
        objectsAt(subset, list).flatMap((address, at) =>
          addressWarnings(fieldPath('subsets', index, list, at, 'ip'), stringAt(address, 'ip')),
        ),
      ),
    )
  },
  validate: endpointsErrors,
  validateUpdate: endpointsErrors,
}

/** The strategy of EndpointSlices. */
export const endpointSliceStrategy: Strategy = {
  tracksGeneration: true,
  generationCounts: 'labels',
  applyDefaults(object) {
    for (const port of draftsAt(object, 'ports')) fill(port, { name: '', protocol: 'TCP' })
  },
  // The topology of v1beta1 is for objects that have it already.
  prepareForCreate(object) {
    for (const endpoint of draftsAt(object, 'endpoints')) delete endpoint['deprecatedTopology']
  },
  warnings(object, old) {
    const warnings =
      old === undefined && stringAt(object, 'addressType') === 'FQDN'
        ? ['spec.addressType: FQDN endpoints are deprecated']
        : []
    const manager = object.metadata.labels?.['endpointslice.kubernetes.io/managed-by'] ?? ''
    if (manager === 'endpointslice-controller.k8s.io' || manager === 'endpointslicemirroring-controller.k8s.io')
      return warnings
    const addresses = objectsAt(object, 'endpoints').flatMap((endpoint, index) =>
      stringsAt(endpoint, 'addresses').flatMap((address, at) =>
        addressWarnings(fieldPath('endpoints', index, 'addresses', at), address),
      ),
    )
    return [...warnings, ...addresses]
  },
  validate: (object) => sliceErrors(object),
  validateUpdate: (object, old) => [
    ...sliceErrors(object, objectsAt(old, 'endpoints')),
    ...immutable('addressType', stringAt(object, 'addressType'), stringAt(old, 'addressType')),
  ],
}

function endpointsErrors(object: KubeObject): FieldError[] {
  return objectsAt(object, 'subsets').flatMap((subset, index) => {
    const path = fieldPath('subsets', index)
    const addresses = [...objectsAt(subset, 'addresses'), ...objectsAt(subset, 'notReadyAddresses')]
    const errors: FieldError[] = []
    if (addresses.length === 0)
      errors.push(fieldErrors.required(path, 'must specify `addresses` or `notReadyAddresses`'))
    for (const list of ['addresses', 'notReadyAddresses']) {
      errors.push(
        ...objectsAt(subset, list).flatMap((address, at) => endpointAddressErrors(fieldPath(path, list, at), address)),
      )
    }
    const ports = objectsAt(subset, 'ports')
    errors.push(...ports.flatMap((port, at) => portErrors(fieldPath(path, 'ports', at), port, ports.length > 1)))
    return errors
  })
}

function portErrors(path: string, port: JsonObject, needsName: boolean): FieldError[] {
  const name = stringAt(port, 'name')
  const errors = name !== '' ? labelName(`${path}.name`, name) : needsName ? [fieldErrors.required(`${path}.name`)] : []
  errors.push(...portNumber(`${path}.port`, numberAt(port, 'port') ?? 0))
  errors.push(...oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['SCTP', 'TCP', 'UDP'], 'required'))
  return [...errors, ...protocolErrors(path, port)]
}

function protocolErrors(path: string, port: JsonObject): FieldError[] {
  const protocol = stringAt(port, 'appProtocol')
  return has(port, 'appProtocol') ? invalidWith(`${path}.appProtocol`, protocol, qualifiedName(protocol)) : []
}

function endpointAddressErrors(path: string, address: JsonObject): FieldError[] {
  const ip = stringAt(address, 'ip')
  const [host, node] = [stringAt(address, 'hostname'), stringAt(address, 'nodeName')]
  return [
    ...addressErrors(`${path}.ip`, ip),
    ...(host === '' ? [] : labelName(`${path}.hostname`, host)),
    ...(has(address, 'nodeName') ? subdomainName(`${path}.nodeName`, node) : []),
    ...specialAddressErrors(`${path}.ip`, ip),
  ]
}

function addressErrors(field: string, address: string): FieldError[] {
  return isIpAddress(address) ? [] : [fieldErrors.invalid(field, address, ipMessage)]
}

/** Validates a slice; the addresses of endpoints that it had before are valid. */
function sliceErrors(object: KubeObject, old: readonly JsonObject[] = []): FieldError[] {
  const type = stringAt(object, 'addressType')
  const errors = [
    ...oneOf('addressType', type, ['FQDN', 'IPv4', 'IPv6'], 'required'),
    ...slicePortErrors(objectsAt(object, 'ports')),
  ]
  for (const [index, endpoint] of objectsAt(object, 'endpoints').entries()) {
    const path = fieldPath('endpoints', index)
    const addresses = stringsAt(endpoint, 'addresses')
    if (addresses.length === 0)
      errors.push(fieldErrors.required(`${path}.addresses`, 'must contain at least 1 address'))
    if (addresses.length > 100) errors.push(fieldErrors.tooMany(`${path}.addresses`, addresses.length, 100))
    const isKept = jsonEqual(endpoint['addresses'] ?? null, old[index]?.['addresses'] ?? null)
    for (const [at, address] of isKept ? [] : addresses.entries())
      errors.push(...sliceAddressErrors(fieldPath(path, 'addresses', at), `${path}.addresses`, address, type))
    const host = stringAt(endpoint, 'hostname')
    if (has(endpoint, 'nodeName')) errors.push(...subdomainName(`${path}.nodeName`, stringAt(endpoint, 'nodeName')))
    if (has(endpoint, 'hostname'))
      errors.push(
        ...(host.includes('.')
          ? [fieldErrors.invalid(`${path}.hostname`, host, 'must not contain dots')]
          : labelName(`${path}.hostname`, host)),
      )
    for (const [at, zone] of objectsAt(endpoint, 'hints', 'forZones').entries()) {
      const name = stringAt(zone, 'name')
      errors.push(...invalidWith(fieldPath(path, 'hints.forZones', at, 'name'), name, labelValue(name)))
    }
  }
  return errors
}

function sliceAddressErrors(field: string, list: string, address: string, type: string): FieldError[] {
  if (type === 'FQDN') return subdomainName(field, address)
  if (type !== 'IPv4' && type !== 'IPv6') return []
  if (!isIpAddress(address)) return [fieldErrors.invalid(field, address, ipMessage)]
  const isOther = address.includes(':') !== (type === 'IPv6')
  const canonical = canonicalAddress(address)
  // Only IPv6 has been validated strictly since slices exist.
  if (type === 'IPv6' && canonical !== address)
    return [fieldErrors.invalid(field, address, `must be in canonical form (${goQuote(canonical)})`)]
  return [
    ...(isOther ? [fieldErrors.invalid(list, address, `must be an ${type} address`)] : []),
    ...specialAddressErrors(field, address),
  ]
}

function slicePortErrors(ports: readonly JsonObject[]): FieldError[] {
  const names = new Set<string>()
  return ports.flatMap((port, index) => {
    const path = fieldPath('ports', index)
    const name = stringAt(port, 'name')
    const errors = name === '' ? [] : labelName(`${path}.name`, name)
    if (names.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
    names.add(name)
    errors.push(...oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['SCTP', 'TCP', 'UDP']))
    return [...errors, ...protocolErrors(path, port)]
  })
}
