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
import type { Draft, Strategy, WriteContext } from '../definition/strategy.ts'
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
import { balancerClassErrors, balancerStatusErrors, trafficErrors, trafficWarnings } from './service-traffic.ts'
import { familyErrors, fillFamilies } from './service-families.ts'
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
    if (spec['type'] !== 'ExternalName') fill(spec, { internalTrafficPolicy: 'Cluster' })
    if (spec['type'] !== 'LoadBalancer') return
    fill(spec, { allocateLoadBalancerNodePorts: true })
    for (const point of draftsAt(object, 'status', 'loadBalancer', 'ingress'))
      if (stringAt(point, 'ip') !== '') fill(point, { ipMode: 'VIP' })
  },
  prepareForCreate(object, context) {
    object['status'] = { loadBalancer: {} }
    const spec = ensureAt(object, 'spec')
    if (stringAt(spec, 'clusterIP') !== '' && !has(spec, 'clusterIPs')) setClusterIp(spec, stringAt(spec, 'clusterIP'))
    if (spec['type'] === 'ExternalName') return
    finishSpec(object, spec, context)
  },
  prepareForUpdate(object, old, context) {
    const spec = ensureAt(object, 'spec')
    const before = objectAt(old, 'spec')
    keepAllocated(spec, before)
    syncClusterIps(spec, before)
    releaseFieldsOfType(spec, before)
    if (spec['type'] !== 'ExternalName') finishSpec(object, spec, context)
  },
  validate: (object, context) => checkedSpec(object, [], context),
  validateUpdate(object, old, context) {
    const [spec, before] = [objectAt(object, 'spec'), objectAt(old, 'spec')]
    return checkedSpec(object, changeErrors(spec, before), context)
  },
  validateStatusUpdate: (object) => balancerStatusErrors(object),
  warnings: trafficWarnings,
  validateName: (name, prefix) => dns1035Label(prefix ? name.replace(/-$/, 'a') : name),
}

/** Allocates what a valid spec needs. */
function finishSpec(object: Draft, spec: MutableJsonObject, context: WriteContext): void {
  if (familyErrors(spec).length > 0) return
  fillFamilies(spec)
  if (serviceErrors(spec).length === 0) allocate(object, spec, context)
}

/** Validates families and addresses, then the rest of the spec, then the allocations of a valid spec. */
function checkedSpec(object: KubeObject, changes: readonly FieldError[], context: WriteContext): FieldError[] {
  const spec = objectAt(object, 'spec')
  const families = familyErrors(spec)
  if (families.length > 0) return families
  const errors = [...changes, ...serviceErrors(spec)]
  return errors.length > 0 ? errors : allocationErrors(asJson(object), spec, context)
}

/** Validates what may not change while the service has it. */
function changeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [stringsAt(spec, 'clusterIPs'), stringsAt(old, 'clusterIPs')]
  const [isBalanced, wasBalanced] = [needsHealthCheckPort(spec), needsHealthCheckPort(old)]
  const errors: FieldError[] = []
  const hadIp = stringAt(old, 'type') !== 'ExternalName' && stringAt(spec, 'type') !== 'ExternalName'
  if (hadIp && before[0] !== undefined && now[0] !== before[0])
    errors.push(fieldErrors.invalid('spec.clusterIPs[0]', now, 'may not change once set'))
  if (isBalanced && wasBalanced && spec['healthCheckNodePort'] !== old['healthCheckNodePort'])
    errors.push(fieldErrors.forbidden('spec.healthCheckNodePort', 'field is immutable'))
  return [...errors, ...balancerClassErrors(spec, old)]
}

/** Reports whether a service can be reached from outside of the cluster. */
function isReachable(spec: JsonObject): boolean {
  return hasNodePorts(spec['type']) || (spec['type'] === 'ClusterIP' && stringsAt(spec, 'externalIPs').length > 0)
}

function needsHealthCheckPort(spec: JsonObject): boolean {
  return stringAt(spec, 'type') === 'LoadBalancer' && stringAt(spec, 'externalTrafficPolicy') === 'Local'
}

/** Makes `clusterIPs` follow a change of `clusterIP` alone. */
function syncClusterIps(spec: MutableJsonObject, old: JsonObject): void {
  const single = stringAt(spec, 'clusterIP')
  if (single === stringAt(old, 'clusterIP')) return
  if (!jsonEqual(spec['clusterIPs'] ?? null, old['clusterIPs'] ?? null) && has(spec, 'clusterIPs')) return
  if (single === '') delete spec['clusterIPs']
  else setClusterIp(spec, single)
}

/** Restores allocated values that an update omits. */
function keepAllocated(spec: MutableJsonObject, old: JsonObject): void {
  if (stringAt(spec, 'type') !== 'ExternalName' && stringAt(old, 'type') !== 'ExternalName') {
    fillStrings(spec, { clusterIP: stringAt(old, 'clusterIP') })
    if (stringAt(spec, 'clusterIP') === stringAt(old, 'clusterIP'))
      fill(spec, { clusterIPs: [...stringsAt(old, 'clusterIPs')] })
    for (const field of ['ipFamilies', 'ipFamilyPolicy'])
      if (has(old, field)) fill(spec, { [field]: old[field] ?? null })
  }
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(old) && (numberAt(spec, 'healthCheckNodePort') ?? 0) === 0)
    spec['healthCheckNodePort'] = old['healthCheckNodePort'] ?? 0
  if (!hasNodePorts(spec['type'])) return
  const identityOf = ({ port, protocol }: JsonObject): string => JSON.stringify([port, protocol])
  const earlier = new Map<string, JsonObject>()
  for (const port of objectsAt(old, 'ports').toReversed()) earlier.set(identityOf(port), port)
  for (const port of draftsAt(spec, 'ports')) {
    const before = earlier.get(identityOf(port))
    if (before !== undefined && has(before, 'nodePort')) fill(port, { nodePort: before['nodePort'] ?? null })
  }
}

/** Removes unchanged fields that the new type of the service does not have. */
function releaseFieldsOfType(spec: MutableJsonObject, old: JsonObject): void {
  const release = (...fields: readonly string[]): void => {
    for (const field of fields) if (jsonEqual(spec[field] ?? null, old[field] ?? null)) delete spec[field]
  }
  if (spec['type'] === 'ExternalName' && old['type'] !== 'ExternalName')
    release('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy')
  if (hasNodePorts(old['type']) && !hasNodePorts(spec['type'])) {
    const before = new Set(objectsAt(old, 'ports').map((port) => port['nodePort']))
    for (const port of draftsAt(spec, 'ports')) if (before.has(port['nodePort'])) delete port['nodePort']
  }
  if (isReachable(old) && !isReachable(spec)) release('externalTrafficPolicy')
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(spec)) {
    if ((numberAt(spec, 'healthCheckNodePort') ?? 0) === 0) delete spec['healthCheckNodePort']
    else release('healthCheckNodePort')
  }
  if (old['type'] === 'LoadBalancer' && spec['type'] !== 'LoadBalancer')
    release('allocateLoadBalancerNodePorts', 'loadBalancerClass')
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
  errors.push(...oneOf('spec.type', type, types, 'required'))
  errors.push(...duplicatePorts(ports))
  if (has(spec, 'internalTrafficPolicy'))
    errors.push(...oneOf('spec.internalTrafficPolicy', stringAt(spec, 'internalTrafficPolicy'), ['Cluster', 'Local']))
  return [...errors, ...trafficErrors(spec)]
}

function externalNameErrors(spec: JsonObject): FieldError[] {
  const name = stringAt(spec, 'externalName').replace(/\.$/, '')
  if (name === '') return [fieldErrors.required('spec.externalName')]
  return dns1123Subdomain(name).map((message) => fieldErrors.invalid('spec.externalName', name, message))
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
