// Validation of a pod's status (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import { isIP } from 'node:net'
import { isIpAddress } from '../addresses/ip-address.ts'
import { immutable, invalidWith } from '../checks.ts'
import { has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'

const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized'])

/** Validates an update of `/status`. */
export function podStatusErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const [status, before] = [objectAt(object, 'status'), objectAt(old, 'status')]
  const errors = objectsAt(status, 'conditions').flatMap((condition, index) => {
    const type = stringAt(condition, 'type')
    return systemConditions.has(type)
      ? []
      : invalidWith(fieldPath('status.conditions', index, 'Type'), type, qualifiedName(type))
  })
  const nominated = stringAt(status, 'nominatedNodeName')
  if (nominated !== '' && nominated !== stringAt(before, 'nominatedNodeName')) {
    errors.push(...invalidWith('status.nominatedNodeName', nominated, dns1123Subdomain(nominated)))
    if (stringAt(old, 'spec', 'nodeName') !== '')
      errors.push(
        fieldErrors.forbidden('status.nominatedNodeName', 'may not be set on pods that are already bound to a node'),
      )
  }
  if ((numberAt(status, 'observedGeneration') ?? 0) < 0)
    errors.push(
      fieldErrors.invalid(
        'status.observedGeneration',
        numberAt(status, 'observedGeneration') ?? 0,
        'must be a non-negative integer',
      ),
    )
  errors.push(...immutable('status.qosClass', stringAt(status, 'qosClass'), stringAt(before, 'qosClass')))
  errors.push(...restartErrors(status, old))
  errors.push(...addressErrors('podIPs', objectsAt(status, 'podIPs'), objectsAt(before, 'podIPs')))
  const hostIps = objectsAt(status, 'hostIPs')
  if (hostIps.length > 0 && stringAt(hostIps[0], 'ip') !== stringAt(status, 'hostIP'))
    errors.push(fieldErrors.invalid('status.hostIPs[0].ip', stringAt(hostIps[0], 'ip'), 'must be equal to `hostIP`'))
  return [...errors, ...addressErrors('hostIPs', hostIps, objectsAt(before, 'hostIPs'))]
}

/** Checks that a container that terminated for good does not run again. */
function restartErrors(status: JsonObject, old: KubeObject): FieldError[] {
  const policy = stringAt(old, 'spec', 'restartPolicy')
  if (policy === 'Always') return []
  const statuses = objectsAt(status, 'containerStatuses')
  const indices = new Map(
    statuses.map((now, index): [JsonValue | undefined, number] => [now['name'], index]).toReversed(),
  )
  return objectsAt(old, 'status', 'containerStatuses').flatMap((before) => {
    const terminated = objectAt(before, 'state', 'terminated')
    if (!has(objectAt(before, 'state'), 'terminated')) return []
    if (policy === 'OnFailure' && (numberAt(terminated, 'exitCode') ?? 0) !== 0) return []
    const index = indices.get(before['name']) ?? -1
    const now = statuses[index]
    if (now === undefined || has(objectAt(now, 'state'), 'terminated')) return []
    return [
      fieldErrors.forbidden(
        fieldPath('status.containerStatuses', index, 'state'),
        'may not be transitioned to non-terminated state',
      ),
    ]
  })
}

function addressErrors(list: string, addresses: readonly JsonObject[], old: readonly JsonObject[]): FieldError[] {
  const known = new Set(old.map((address) => stringAt(address, 'ip')))
  const errors = addresses.flatMap((address, index) => {
    const ip = stringAt(address, 'ip')
    return known.has(ip) || isIpAddress(ip)
      ? []
      : [
          fieldErrors.invalid(
            fieldPath('status', list, index),
            ip,
            'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
          ),
        ]
  })
  const families = new Set(addresses.map((address) => isIP(stringAt(address, 'ip'))))
  if (addresses.length > 1 && (families.size !== 2 || addresses.length > 2))
    errors.push(
      fieldErrors.invalid(
        `status.${list}`,
        addresses.map((address) => ({ IP: stringAt(address, 'ip') })),
        'may specify no more than one IP for each IP family',
      ),
    )
  return errors
}
