// Endpoints and EndpointSlices.
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath } from '@fairlead/kube'
import { isIpAddress } from '../core/ip-address.ts'
import type { Strategy } from '../../registry/strategy.ts'
import { immutable, oneOf, portNumber } from '../checks.ts'
import { draftsAt, fill, fillText, numberAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

const ipMessage = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'

/** Behaviour of Endpoints. */
export const endpointsStrategy: Strategy = {
  allowCreateOnUpdate: true,
  applyDefaults(object) {
    for (const subset of draftsAt(object, 'subsets'))
      for (const port of draftsAt(subset, 'ports')) fillText(port, { protocol: 'TCP' })
  },
  validate: endpointsErrors,
  validateUpdate: endpointsErrors,
}

/** Behaviour of EndpointSlices. */
export const endpointSliceStrategy: Strategy = {
  tracksGeneration: true,
  applyDefaults(object) {
    for (const port of draftsAt(object, 'ports')) fill(port, { name: '', protocol: 'TCP' })
  },
  validate: sliceErrors,
  validateUpdate: (object, old) => [
    ...immutable('addressType', stringAt(object, 'addressType'), stringAt(old, 'addressType')),
    ...sliceErrors(object),
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
        ...objectsAt(subset, list).flatMap((address, at) =>
          addressErrors(fieldPath(path, list, at, 'ip'), stringAt(address, 'ip')),
        ),
      )
    }
    const ports = objectsAt(subset, 'ports')
    errors.push(...ports.flatMap((port, at) => portErrors(fieldPath(path, 'ports', at), port, ports.length > 1)))
    return errors
  })
}

function portErrors(path: string, port: JsonObject, needsName: boolean): FieldError[] {
  const errors: FieldError[] = needsName && stringAt(port, 'name') === '' ? [fieldErrors.required(`${path}.name`)] : []
  errors.push(...portNumber(`${path}.port`, numberAt(port, 'port') ?? 0))
  return [...errors, ...oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['SCTP', 'TCP', 'UDP'], 'required')]
}

function addressErrors(field: string, address: string): FieldError[] {
  return isIpAddress(address) ? [] : [fieldErrors.invalid(field, address, ipMessage)]
}

function sliceErrors(object: KubeObject): FieldError[] {
  const type = stringAt(object, 'addressType')
  const errors = oneOf('addressType', type, ['FQDN', 'IPv4', 'IPv6'], 'required')
  for (const [index, endpoint] of objectsAt(object, 'endpoints').entries()) {
    const path = fieldPath('endpoints', index)
    const addresses = stringsAt(endpoint, 'addresses')
    if (addresses.length === 0)
      errors.push(fieldErrors.required(`${path}.addresses`, 'must contain at least 1 address'))
    if (type === 'IPv4' || type === 'IPv6')
      errors.push(...addresses.flatMap((address, at) => addressErrors(fieldPath(path, 'addresses', at), address)))
  }
  return errors
}
