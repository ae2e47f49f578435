// Services: defaults, cluster IPs, validation.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import {
  asJson,
  dns1035Label,
  dns1123Subdomain,
  fieldErrors,
  fieldPath,
  jsonEqual,
  qualifiedName,
} from '@fairlead/kube'
import type { Strategy, WriteContext } from '../definition/strategy.ts'
import { duplicateStruct, invalidWith, labelErrors, labelName, oneOf, portNumber, portNumberOrName } from '../checks.ts'
import {
  draftsAt,
  ensureAt,
  fill,
  fillStrings,
  has,
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
} from '../fields.ts'
import { balancerStatusErrors, trafficErrors, trafficWarnings } from './service-traffic.ts'
import { isIpAddress } from '../addresses/ip-address.ts'
import { allocate, allocationErrors, hasNodePorts, setClusterIp } from './service-allocation.ts'

/** The strategy of Services. */
export const serviceStrategy: Strategy = {
  allowCreateOnUpdate: true,
  returnsDeletedObject: true,
  hasStatus: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fillStrings(spec, { sessionAffinity: 'None', type: 'ClusterIP' })
    if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig']
    else if (spec['sessionAffinity'] === 'ClientIP')
      fill(ensureAt(spec, 'sessionAffinityConfig', 'clientIP'), { timeoutSeconds: 10_800 })
    if (stringsAt(spec, 'externalIPs').length > 0 && spec['type'] === 'ClusterIP')
      fillStrings(spec, { externalTrafficPolicy: 'Cluster' })
    for (const port of draftsAt(spec, 'ports')) {
      fillStrings(port, { protocol: 'TCP' })
      if (port['targetPort'] === undefined || port['targetPort'] === 0 || port['targetPort'] === '')
        port['targetPort'] = port['port'] ?? 0
    }
    if (hasNodePorts(spec['type'])) fillStrings(spec, { externalTrafficPolicy: 'Cluster' })
    if (spec['type'] !== 'ExternalName') fillStrings(spec, { internalTrafficPolicy: 'Cluster' })
    if (spec['type'] !== 'LoadBalancer') return
    fill(spec, { allocateLoadBalancerNodePorts: true })
    for (const point of draftsAt(object, 'status', 'loadBalancer', 'ingress'))
      if (stringAt(point, 'ip') !== '') fill(point, { ipMode: 'VIP' })
  },
  prepareForCreate(object, context) {
    object['status'] = { loadBalancer: {} }
    const spec = ensureAt(object, 'spec')
    if (spec['type'] === 'ExternalName') return
    if (stringAt(spec, 'clusterIP') !== '' && !has(spec, 'clusterIPs')) setClusterIp(spec, stringAt(spec, 'clusterIP'))
    if (serviceErrors(spec).length === 0) allocate(object, spec, context)
    const hasNoPods = stringAt(spec, 'clusterIP') === 'None' && Object.keys(mapAt(spec, 'selector')).length === 0
    fill(
      spec,
      hasNoPods && !has(spec, 'ipFamilies') && !has(spec, 'ipFamilyPolicy')
        ? { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' }
        : { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    )
  },
  prepareForUpdate(object, old, context) {
    const spec = ensureAt(object, 'spec')
    const before = objectAt(old, 'spec')
    if (spec['type'] === 'ExternalName') {
      releaseClusterIp(spec, before)
      return
    }
    keepAllocated(spec, before)
    syncClusterIps(spec)
    if (!hasNodePorts(spec['type']) && hasNodePorts(before['type'])) releaseNodePorts(spec, before)
    if (serviceErrors(spec).length === 0) allocate(object, spec, context)
    fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' })
  },
  validate: (object, context) => checkedSpec(object, context),
  validateUpdate(object, old, context) {
    const before = stringsAt(old, 'spec', 'clusterIPs')
    const now = stringsAt(object, 'spec', 'clusterIPs')
    const hadIp =
      stringAt(old, 'spec', 'type') !== 'ExternalName' && stringAt(object, 'spec', 'type') !== 'ExternalName'
    if (hadIp && before[0] !== undefined && now[0] !== before[0]) {
      return [
        fieldErrors.invalid('spec.clusterIPs[0]', now, 'may not change once set'),
        ...serviceErrors(objectAt(object, 'spec')),
      ]
    }
    return checkedSpec(object, context)
  },
  validateStatusUpdate: (object) => balancerStatusErrors(object),
  warnings: trafficWarnings,
  validateName: (name, prefix) => dns1035Label(prefix ? name.replace(/-$/, 'a') : name),
}

/** Validates the spec, and the allocations of a valid spec. */
function checkedSpec(object: KubeObject, context: WriteContext): FieldError[] {
  const spec = objectAt(object, 'spec')
  const errors = serviceErrors(spec)
  return errors.length > 0 ? errors : allocationErrors(asJson(object), spec, context)
}

/** Sets `clusterIP` and the first of `clusterIPs`, which are the same, from the one that is set. */
function syncClusterIps(spec: MutableJsonObject): void {
  const single = stringAt(spec, 'clusterIP')
  const first = stringsAt(spec, 'clusterIPs')[0] ?? ''
  if (single !== '' && single !== first) setClusterIp(spec, single)
  else if (single === '' && first !== '') setClusterIp(spec, first)
}

/** Restores allocated values that an update omits. */
function keepAllocated(spec: MutableJsonObject, old: JsonObject): void {
  if (!has(spec, 'clusterIP') && !has(spec, 'clusterIPs') && has(old, 'clusterIP'))
    setClusterIp(spec, stringAt(old, 'clusterIP'))
  for (const field of ['ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort'])
    if (has(old, field)) fill(spec, { [field]: old[field] ?? null })
  if (!hasNodePorts(spec['type'])) return
  const identityOf = ({ port, protocol }: JsonObject): string => JSON.stringify([port, protocol])
  const earlier = new Map<string, JsonObject>()
  for (const port of objectsAt(old, 'ports').toReversed()) earlier.set(identityOf(port), port)
  for (const port of draftsAt(spec, 'ports')) {
    const before = earlier.get(identityOf(port))
    if (before !== undefined && has(before, 'nodePort')) fill(port, { nodePort: before['nodePort'] ?? null })
  }
}

/** Removes the cluster IP of a service whose type has none. */
function releaseClusterIp(spec: MutableJsonObject, old: JsonObject): void {
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']) {
    if (jsonEqual(spec[field] ?? null, old[field] ?? null)) delete spec[field]
  }
}

/** Removes unchanged node ports of a service whose type has none. */
function releaseNodePorts(spec: MutableJsonObject, old: JsonObject): void {
  const before = new Set(objectsAt(old, 'ports').map((port) => port['nodePort']))
  for (const port of draftsAt(spec, 'ports')) if (before.has(port['nodePort'])) delete port['nodePort']
  for (const field of ['externalTrafficPolicy', 'allocateLoadBalancerNodePorts']) delete spec[field]
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
  errors.push(...portErrors(ports, isHeadless, hasNodePorts(type)))
  errors.push(...labelErrors('spec.selector', mapAt(spec, 'selector')))
  errors.push(...oneOf('spec.sessionAffinity', stringAt(spec, 'sessionAffinity'), ['ClientIP', 'None'], 'required'))
  errors.push(...clusterIpErrors(stringsAt(spec, 'clusterIPs')))
  errors.push(...oneOf('spec.type', type, types, 'required'))
  errors.push(...duplicatePorts(ports))
  if (has(spec, 'internalTrafficPolicy'))
    errors.push(...oneOf('spec.internalTrafficPolicy', stringAt(spec, 'internalTrafficPolicy'), ['Cluster', 'Local']))
  return [...errors, ...trafficErrors(spec)]
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
    errors.push(...oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['SCTP', 'TCP', 'UDP'], 'required'))
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
    const protocol = stringAt(port, 'appProtocol')
    if (has(port, 'appProtocol')) errors.push(...invalidWith(`${path}.appProtocol`, protocol, qualifiedName(protocol)))
    return errors
  })
}

/** Returns the errors of ports with the same number and protocol. The value is Go's key struct. */
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
