// Services: defaults, cluster IPs, checks.
import type { FieldError, JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { dns1035Label, dns1123Subdomain, fieldErrors, fieldPath } from '@fairlead/kube'
import type { Strategy } from '../../registry/strategy.ts'
import { duplicateStruct, labelErrors, labelName, oneOf, portNumber, portNumberOrName } from '../checks.ts'
import {
  draftsAt,
  ensureAt,
  fill,
  fillText,
  has,
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
} from '../fields.ts'
import { allocateClusterIp, clusterIpNetwork, isIpAddress } from './cluster-ip.ts'

/** Behaviour of Services. */
export const serviceStrategy: Strategy = {
  returnsDeletedObject: true,
  hasStatus: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fillText(spec, { sessionAffinity: 'None', type: 'ClusterIP' })
    if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig']
    else if (spec['sessionAffinity'] === 'ClientIP')
      fill(ensureAt(spec, 'sessionAffinityConfig', 'clientIP'), { timeoutSeconds: 10_800 })
    for (const port of draftsAt(spec, 'ports')) {
      fillText(port, { protocol: 'TCP' })
      if (port['targetPort'] === undefined || port['targetPort'] === 0 || port['targetPort'] === '')
        port['targetPort'] = port['port'] ?? 0
    }
    if (isExternal(spec['type'])) fillText(spec, { externalTrafficPolicy: 'Cluster' })
    if (spec['type'] !== 'ExternalName') fillText(spec, { internalTrafficPolicy: 'Cluster' })
    if (spec['type'] === 'LoadBalancer') fill(spec, { allocateLoadBalancerNodePorts: true })
  },
  prepareForCreate(object, context) {
    object['status'] = { loadBalancer: {} }
    const spec = ensureAt(object, 'spec')
    if (spec['type'] === 'ExternalName') return
    syncClusterIps(spec)
    if (stringAt(spec, 'clusterIP') === '' && isValidSpec(object))
      setClusterIp(spec, context.dryRun ? clusterIpNetwork : allocateClusterIp(context, object))
    fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' })
    if (isExternal(spec['type']) && isValidSpec(object)) assignNodePorts(spec)
  },
  prepareForUpdate(object, old) {
    const spec = ensureAt(object, 'spec')
    if (spec['type'] === 'ExternalName') return
    keepAllocated(spec, objectAt(old, 'spec'))
    syncClusterIps(spec)
    if (isExternal(spec['type'])) assignNodePorts(spec)
  },
  validate: (object) => serviceErrors(objectAt(object, 'spec')),
  validateUpdate(object, old) {
    const spec = objectAt(object, 'spec')
    const before = stringsAt(old, 'spec', 'clusterIPs')
    const now = stringsAt(spec, 'clusterIPs')
    const movesIp =
      stringAt(old, 'spec', 'type') !== 'ExternalName' &&
      stringAt(spec, 'type') !== 'ExternalName' &&
      before[0] !== undefined &&
      now[0] !== before[0]
    return [
      ...(movesIp ? [fieldErrors.invalid('spec.clusterIPs[0]', now, 'may not change once set')] : []),
      ...serviceErrors(spec),
    ]
  },
  validateName: (name, prefix) => dns1035Label(prefix ? name.replace(/-$/, 'a') : name),
}

const isExternal = (type: JsonValue | undefined): boolean => type === 'NodePort' || type === 'LoadBalancer'

function isValidSpec(object: JsonObject): boolean {
  return serviceErrors(objectAt(object, 'spec')).length === 0
}

/** `clusterIP` and the first of `clusterIPs` are the same field; who sets one means both. */
function syncClusterIps(spec: MutableJsonObject): void {
  const single = stringAt(spec, 'clusterIP')
  const first = stringsAt(spec, 'clusterIPs')[0] ?? ''
  if (single !== '' && single !== first) setClusterIp(spec, single)
  else if (single === '' && first !== '') setClusterIp(spec, first)
}

function setClusterIp(spec: MutableJsonObject, address: string): void {
  spec['clusterIP'] = address
  spec['clusterIPs'] = [address]
}

/** What an update leaves out stays as it was allocated. */
function keepAllocated(spec: MutableJsonObject, old: JsonObject): void {
  if (!has(spec, 'clusterIP') && !has(spec, 'clusterIPs') && has(old, 'clusterIP'))
    setClusterIp(spec, stringAt(old, 'clusterIP'))
  for (const field of ['ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort'])
    if (has(old, field)) fill(spec, { [field]: old[field] ?? null })
  if (!isExternal(spec['type'])) return
  for (const port of draftsAt(spec, 'ports')) {
    const before = objectsAt(old, 'ports').find(
      (candidate) => candidate['port'] === port['port'] && candidate['protocol'] === port['protocol'],
    )
    if (before !== undefined && has(before, 'nodePort')) fill(port, { nodePort: before['nodePort'] ?? null })
  }
}

const nodePortRange = { first: 30_000, size: 2768 }

/** Node ports that differ within the service, starting at a place that its cluster IP decides. */
function assignNodePorts(spec: MutableJsonObject): void {
  const used = new Set(objectsAt(spec, 'ports').map((port) => numberAt(port, 'nodePort')))
  const start = Number(stringAt(spec, 'clusterIP').split('.').at(-1) ?? '0') * 10
  let offset = Number.isNaN(start) ? 0 : start
  for (const port of draftsAt(spec, 'ports')) {
    if (has(port, 'nodePort')) continue
    while (used.has(nodePortRange.first + (offset % nodePortRange.size))) offset += 1
    port['nodePort'] = nodePortRange.first + (offset % nodePortRange.size)
    used.add(Number(port['nodePort']))
  }
}

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']

function serviceErrors(spec: JsonObject): FieldError[] {
  const type = stringAt(spec, 'type')
  const ports = objectsAt(spec, 'ports')
  const isHeadless = stringAt(spec, 'clusterIP') === 'None'
  const errors: FieldError[] = []
  if (type === 'ExternalName') errors.push(...externalNameErrors(spec))
  else if (ports.length === 0 && !isHeadless) errors.push(fieldErrors.required('spec.ports'))
  if (type === 'LoadBalancer' && isHeadless)
    errors.push(fieldErrors.invalid('spec.clusterIPs[0]', 'None', "may not be set to 'None' for LoadBalancer services"))
  if (type === 'NodePort' && isHeadless)
    errors.push(fieldErrors.invalid('spec.clusterIPs[0]', 'None', "may not be set to 'None' for NodePort services"))
  errors.push(...portErrors(ports, isHeadless, isExternal(type)))
  errors.push(...labelErrors('spec.selector', mapAt(spec, 'selector')))
  errors.push(...oneOf('spec.sessionAffinity', stringAt(spec, 'sessionAffinity'), ['ClientIP', 'None'], 'required'))
  errors.push(...clusterIpErrors(stringsAt(spec, 'clusterIPs')))
  errors.push(...oneOf('spec.type', type, types, 'required'))
  errors.push(...duplicatePorts(ports))
  if (isExternal(type))
    errors.push(
      ...oneOf('spec.externalTrafficPolicy', stringAt(spec, 'externalTrafficPolicy'), ['Cluster', 'Local'], 'required'),
    )
  if (has(spec, 'internalTrafficPolicy'))
    errors.push(...oneOf('spec.internalTrafficPolicy', stringAt(spec, 'internalTrafficPolicy'), ['Cluster', 'Local']))
  return errors
}

function externalNameErrors(spec: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  if (stringsAt(spec, 'clusterIPs').length > 0)
    errors.push(fieldErrors.forbidden('spec.clusterIPs', "may not be set when `type` is 'ExternalName'"))
  const name = stringAt(spec, 'externalName').replace(/\.$/, '')
  if (name === '') return [...errors, fieldErrors.required('spec.externalName')]
  return [
    ...errors,
    ...dns1123Subdomain(name).map((message) => fieldErrors.invalid('spec.externalName', name, message)),
  ]
}

function portErrors(ports: readonly JsonObject[], isHeadless: boolean, withNodePorts: boolean): FieldError[] {
  const names = new Set<string>()
  return ports.flatMap((port, index) => {
    const path = fieldPath('spec.ports', index)
    const name = stringAt(port, 'name')
    const errors: FieldError[] = []
    if (name === '') {
      if (ports.length > 1) errors.push(fieldErrors.required(`${path}.name`))
    } else {
      errors.push(...labelName(`${path}.name`, name))
      if (names.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
      names.add(name)
    }
    errors.push(...portNumber(`${path}.port`, numberAt(port, 'port') ?? 0))
    errors.push(...oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['TCP', 'UDP', 'SCTP'], 'required'))
    errors.push(...portNumberOrName(`${path}.targetPort`, port['targetPort'] ?? 0))
    if (
      isHeadless &&
      has(port, 'targetPort') &&
      typeof port['targetPort'] === 'number' &&
      port['targetPort'] !== port['port'] &&
      port['targetPort'] < 1
    ) {
      errors.push(
        fieldErrors.invalid(
          `${path}.port`,
          port['port'] ?? 0,
          "must be equal to the value of 'targetPort' when clusterIP = None",
        ),
      )
    }
    if (!withNodePorts && has(port, 'nodePort') && port['nodePort'] !== 0) {
      errors.push(fieldErrors.forbidden(`${path}.nodePort`, "may not be used when `type` is 'ClusterIP'"))
    }
    return errors
  })
}

/** Two ports of one number and protocol. The value shows Go's key struct. */
function duplicatePorts(ports: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>()
  return ports.flatMap((port, index) => {
    const Protocol = stringAt(port, 'protocol')
    const Port = numberAt(port, 'port') ?? 0
    const key = `${Protocol}/${Port}`
    if (!seen.has(key)) {
      seen.add(key)
      return []
    }
    return [
      duplicateStruct(fieldPath('spec.ports', index), {
        Name: '',
        Protocol,
        AppProtocol: null,
        Port,
        TargetPort: 0,
        NodePort: 0,
      }),
    ]
  })
}

function clusterIpErrors(addresses: readonly string[]): FieldError[] {
  return addresses.flatMap((address, index) =>
    address === 'None' || isIpAddress(address)
      ? []
      : [
          fieldErrors.invalid(
            fieldPath('spec.clusterIPs', index),
            address,
            'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
          ),
        ],
  )
}
