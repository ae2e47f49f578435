// Ingresses, IngressClasses and NetworkPolicies.
import { BlockList } from 'node:net'
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { dns1035Label, dns1123Subdomain, fieldErrors, fieldPath, pathSegmentName } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import {
  immutable,
  invalidWith,
  labelSelectorErrors,
  oneOf,
  portNumber,
  portNumberOrName,
  subdomainName,
} from '../checks.ts'
import { draftsAt, ensureAt, fill, has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { defaultClass } from '../default-class.ts'
import { isCidr } from '../addresses/cidr.ts'
import { rangeWarnings } from '../addresses/address-warnings.ts'
import { balancerAddressErrors, balancerHostErrors } from '../addresses/balancer-address.ts'
import { isIpAddress, withoutLeadingZeros } from '../addresses/ip-address.ts'

/** The strategy of Ingresses. */
export const ingressStrategy: Strategy = {
  tracksGeneration: true,
  admit(object, old, context) {
    if (old !== undefined) return
    const spec = ensureAt(object, 'spec')
    if (has(spec, 'ingressClassName') || stringAt(object, 'metadata', 'annotations', oldClass) !== '') return
    const name = defaultClass(context, 'ingressclasses.networking.k8s.io', [
      'ingressclass.kubernetes.io/is-default-class',
    ])
    if (name !== undefined) spec['ingressClassName'] = name
  },
  prepareForCreate(object) {
    object['status'] = { loadBalancer: {} }
  },
  validate: (object) => [...ingressErrors(objectAt(object, 'spec')), ...twoClassErrors(object)],
  validateStatusUpdate: (object) =>
    objectsAt(object, 'status', 'loadBalancer', 'ingress').flatMap((ingress, index) =>
      pointErrors(fieldPath('status.loadBalancer.ingress', index), ingress),
    ),
  validateUpdate: (object) => ingressErrors(objectAt(object, 'spec')),
  warnings(object, old) {
    const annotations = mapAt(object, 'metadata', 'annotations')
    if (old !== undefined || annotations[oldClass] === undefined || has(objectAt(object, 'spec'), 'ingressClassName'))
      return []
    return [`annotation "${oldClass}" is deprecated, please use 'spec.ingressClassName' instead`]
  },
}

/** The strategy of IngressClasses. */
export const ingressClassStrategy: Strategy = {
  tracksGeneration: true,
  applyDefaults(object) {
    const parameters = objectAt(object, 'spec', 'parameters')
    if (has(objectAt(object, 'spec'), 'parameters') && !has(parameters, 'scope'))
      ensureAt(object, 'spec', 'parameters')['scope'] = 'Cluster'
  },
  validate: (object) => ingressClassErrors(objectAt(object, 'spec')),
  validateUpdate: (object, old) => [
    ...immutable('spec.controller', stringAt(object, 'spec', 'controller'), stringAt(old, 'spec', 'controller')),
    ...ingressClassErrors(objectAt(object, 'spec')),
  ],
}

/** The strategy of NetworkPolicies. */
export const networkPolicyStrategy: Strategy = {
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    for (const direction of ['ingress', 'egress']) {
      for (const rule of draftsAt(spec, direction))
        for (const port of draftsAt(rule, 'ports')) fill(port, { protocol: 'TCP' })
    }
    if (stringsAt(spec, 'policyTypes').length === 0)
      spec['policyTypes'] = objectsAt(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
  },
  warnings: (object) =>
    (
      [
        ['ingress', 'from'],
        ['egress', 'to'],
      ] as const
    ).flatMap(([direction, peers]) =>
      objectsAt(object, 'spec', direction).flatMap((rule, index) =>
        objectsAt(rule, peers).flatMap((peer, at) => {
          const path = fieldPath('spec', direction, index, peers, at, 'ipBlock')
          const except = stringsAt(peer, 'ipBlock', 'except')
          return [
            ...rangeWarnings(`${path}.cidr`, stringAt(peer, 'ipBlock', 'cidr')),
            ...except.flatMap((range, which) => rangeWarnings(fieldPath(path, 'except', which), range)),
          ]
        }),
      ),
    ),
  validate: (object) => networkPolicyErrors(objectAt(object, 'spec')),
  // The real server validates the spec twice here, so its causes repeat.
  validateUpdate: (object) => [
    ...networkPolicyErrors(objectAt(object, 'spec')),
    ...networkPolicyErrors(objectAt(object, 'spec')),
  ],
}

/** The annotation that preceded the class field. */
const oldClass = 'kubernetes.io/ingress.class'

function twoClassErrors(object: KubeObject): FieldError[] {
  const annotation = mapAt(object, 'metadata', 'annotations')[oldClass]
  const spec = objectAt(object, 'spec')
  if (annotation === undefined || !has(spec, 'ingressClassName') || spec['ingressClassName'] === annotation) return []
  return [
    fieldErrors.invalid(`annotations.${oldClass}`, annotation, 'must match `ingressClassName` when both are specified'),
  ]
}

/** Validates an ingress point of a load balancer. */
function pointErrors(path: string, point: JsonObject): FieldError[] {
  return [
    ...balancerAddressErrors(`${path}.ip`, stringAt(point, 'ip')),
    ...balancerHostErrors(`${path}.hostname`, stringAt(point, 'hostname')),
  ]
}

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']

function ingressErrors(spec: JsonObject): FieldError[] {
  const rules = objectsAt(spec, 'rules')
  const errors: FieldError[] = []
  if (rules.length === 0 && !has(spec, 'defaultBackend')) {
    errors.push(
      fieldErrors.invalid(
        'spec',
        has(spec, 'rules') ? [] : null,
        'either `defaultBackend` or `rules` must be specified',
      ),
    )
  }
  if (has(spec, 'defaultBackend'))
    errors.push(...backendErrors('spec.defaultBackend', objectAt(spec, 'defaultBackend')))
  errors.push(...rules.flatMap((rule, index) => ruleErrors(fieldPath('spec.rules', index), rule)))
  errors.push(
    ...objectsAt(spec, 'tls').flatMap((tls, index) => [
      ...stringsAt(tls, 'hosts').flatMap((host, at) => hostErrors(fieldPath('spec.tls', index, 'hosts', at), host)),
      ...(stringAt(tls, 'secretName') === ''
        ? []
        : subdomainName(fieldPath('spec.tls', index, 'secretName'), stringAt(tls, 'secretName'))),
    ]),
  )
  if (has(spec, 'ingressClassName'))
    errors.push(...subdomainName('spec.ingressClassName', stringAt(spec, 'ingressClassName')))
  return errors
}

function ruleErrors(path: string, rule: JsonObject): FieldError[] {
  const host = stringAt(rule, 'host')
  const errors: FieldError[] = []
  if (host !== '') {
    if (isIpAddress(host))
      errors.push(fieldErrors.invalid(`${path}.host`, host, 'must be a DNS name, not an IP address'))
    errors.push(...hostErrors(`${path}.host`, host))
  }
  if (!has(rule, 'http')) return errors
  const paths = objectsAt(rule, 'http', 'paths')
  if (paths.length === 0) errors.push(fieldErrors.required(`${path}.http.paths`))
  return [...errors, ...paths.flatMap((entry, index) => pathErrors(fieldPath(`${path}.http.paths`, index), entry))]
}

const wildcardMessage =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character " +
  "(e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

function hostErrors(field: string, host: string): FieldError[] {
  if (!host.includes('*')) return subdomainName(field, host)
  return host.startsWith('*.') && dns1123Subdomain(host.slice(2)).length === 0
    ? []
    : [fieldErrors.invalid(field, host, wildcardMessage)]
}

function pathErrors(path: string, entry: JsonObject): FieldError[] {
  const type = stringAt(entry, 'pathType')
  const value = stringAt(entry, 'path')
  const errors: FieldError[] = []
  if (!has(entry, 'pathType')) return [fieldErrors.required(`${path}.pathType`, 'pathType must be specified')]
  if (!pathTypes.includes(type)) errors.push(fieldErrors.notSupported(`${path}.pathType`, type, pathTypes))
  else if (type !== 'ImplementationSpecific') {
    if (!value.startsWith('/')) errors.push(fieldErrors.invalid(`${path}.path`, value, 'must be an absolute path'))
    for (const text of ['//', '/./', '/../', '%2f', '%2F']) {
      if (value !== '' && value.includes(text))
        errors.push(fieldErrors.invalid(`${path}.path`, value, `must not contain '${text}'`))
    }
    for (const text of ['/..', '/.'])
      if (value.endsWith(text)) errors.push(fieldErrors.invalid(`${path}.path`, value, `cannot end with '${text}'`))
  } else if (value !== '' && !value.startsWith('/')) {
    errors.push(fieldErrors.invalid(`${path}.path`, value, 'must be an absolute path'))
  }
  return [...errors, ...backendErrors(`${path}.backend`, objectAt(entry, 'backend'))]
}

function backendErrors(path: string, backend: JsonObject): FieldError[] {
  const hasService = has(backend, 'service')
  const hasResource = has(backend, 'resource')
  if (hasService && hasResource) return [fieldErrors.invalid(path, '', 'cannot set both resource and service backends')]
  if (hasResource)
    return ['kind', 'name']
      .filter((field) => stringAt(backend, 'resource', field) === '')
      .map((field) => fieldErrors.required(`${path}.resource.${field}`))
  if (!hasService) return [fieldErrors.invalid(path, '', 'resource or service backend is required')]
  const name = stringAt(backend, 'service', 'name')
  const port = objectAt(backend, 'service', 'port')
  const number = numberAt(port, 'number') ?? 0
  const portName = stringAt(port, 'name')
  const errors =
    name === ''
      ? [fieldErrors.required(`${path}.service.name`)]
      : invalidWith(`${path}.service.name`, name, dns1035Label(name))
  if (portName !== '' && number !== 0)
    return [...errors, fieldErrors.invalid(`${path}`, '', 'cannot set both port name & port number')]
  if (portName === '' && number === 0) return [...errors, fieldErrors.required(path, 'port name or number is required')]
  return [
    ...errors,
    ...(portName === ''
      ? portNumber(`${path}.service.port.number`, number)
      : portNumberOrName(`${path}.service.port.name`, portName)),
  ]
}

function ingressClassErrors(spec: JsonObject): FieldError[] {
  const controller = stringAt(spec, 'controller')
  const errors: FieldError[] = []
  if (controller.length > 250) errors.push(fieldErrors.tooLong('spec.controller', 250))
  const [domain = '', ...rest] = controller.split('/')
  if (controller === '') errors.push(fieldErrors.required('spec.controller'))
  else if (rest.join('/') === '')
    errors.push(
      fieldErrors.invalid('spec.controller', controller, 'must be a domain-prefixed path (such as "acme.io/foo")'),
    )
  else errors.push(...invalidWith('spec.controller', domain, dns1123Subdomain(domain)))
  if (has(spec, 'parameters')) {
    const group = stringAt(spec, 'parameters', 'apiGroup')
    if (has(objectAt(spec, 'parameters'), 'apiGroup'))
      errors.push(...invalidWith('spec.parameters.apiGroup', group, dns1123Subdomain(group)))
    for (const field of ['kind', 'name']) {
      const value = stringAt(spec, 'parameters', field)
      const place = `spec.parameters.${field}`
      errors.push(...(value === '' ? [fieldErrors.required(place)] : invalidWith(place, value, pathSegmentName(value))))
    }
    errors.push(
      ...oneOf('spec.parameters.scope', stringAt(spec, 'parameters', 'scope'), ['Cluster', 'Namespace']),
      ...parameterNamespaceErrors(objectAt(spec, 'parameters')),
    )
  }
  return errors
}

function networkPolicyErrors(spec: JsonObject): FieldError[] {
  const errors = labelSelectorErrors('spec.podSelector', objectAt(spec, 'podSelector'))
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const [index, rule] of objectsAt(spec, direction).entries()) {
      const path = fieldPath(`spec.${direction}`, index)
      errors.push(
        ...objectsAt(rule, 'ports').flatMap((port, at) => policyPortErrors(fieldPath(`${path}.ports`, at), port)),
      )
      errors.push(...objectsAt(rule, peers).flatMap((peer, at) => peerErrors(fieldPath(`${path}.${peers}`, at), peer)))
    }
  }
  const types = stringsAt(spec, 'policyTypes')
  if (types.length > 2)
    return [...errors, fieldErrors.invalid('spec.policyTypes', types, 'may not specify more than two policyTypes')]
  return [
    ...errors,
    ...types.flatMap((type, index) => oneOf(fieldPath('spec.policyTypes', index), type, ['Ingress', 'Egress'])),
  ]
}

function policyPortErrors(path: string, port: JsonObject): FieldError[] {
  const errors = has(port, 'protocol')
    ? oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['TCP', 'UDP', 'SCTP'])
    : []
  const number = port['port']
  if (number !== undefined && number !== null) errors.push(...portNumberOrName(`${path}.port`, number))
  const end = numberAt(port, 'endPort')
  if (end === undefined) return errors
  if (number === undefined || number === null)
    return [...errors, fieldErrors.invalid(`${path}.endPort`, end, 'may not be specified when `port` is not specified')]
  if (typeof number !== 'number')
    return [...errors, fieldErrors.invalid(`${path}.endPort`, end, 'may not be specified when `port` is non-numeric')]
  return [
    ...errors,
    ...(end < number
      ? [fieldErrors.invalid(`${path}.endPort`, number, 'must be greater than or equal to `port`')]
      : []),
    ...portNumber(`${path}.endPort`, end),
  ]
}

function peerErrors(path: string, peer: JsonObject): FieldError[] {
  const given = ['podSelector', 'namespaceSelector', 'ipBlock'].filter((field) => has(peer, field))
  const errors: FieldError[] = given
    .filter((field) => field !== 'ipBlock')
    .flatMap((field) => labelSelectorErrors(`${path}.${field}`, objectAt(peer, field)))
  if (has(peer, 'ipBlock')) {
    const block = objectAt(peer, 'ipBlock')
    const cidr = stringAt(block, 'cidr')
    if (cidr === '') errors.push(fieldErrors.required(`${path}.ipBlock.cidr`))
    else if (!isCidr(cidr))
      errors.push(
        fieldErrors.invalid(
          `${path}.ipBlock.cidr`,
          cidr,
          'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        ),
      )
    const isWithin = isCidr(cidr) ? subsetOf(cidr) : () => true
    for (const [index, except] of stringsAt(block, 'except').entries()) {
      const field = fieldPath(`${path}.ipBlock.except`, index)
      if (!isCidr(except))
        errors.push(
          fieldErrors.invalid(field, except, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'),
        )
      else if (!isWithin(except)) errors.push(fieldErrors.invalid(field, except, 'must be a strict subset of `cidr`'))
    }
  }
  if (given.length === 0) errors.push(fieldErrors.required(path, 'must specify a peer'))
  else if (given.length > 1 && given.includes('ipBlock'))
    errors.push(fieldErrors.forbidden(path, 'may not specify both ipBlock and another peer'))
  return errors
}

function parameterNamespaceErrors(parameters: JsonObject): FieldError[] {
  const scope = stringAt(parameters, 'scope')
  const field = 'spec.parameters.namespace'
  if (scope === 'Namespace' && !has(parameters, 'namespace'))
    return [fieldErrors.required(field, "`parameters.scope` is set to 'Namespace'")]
  return scope === 'Cluster' && has(parameters, 'namespace')
    ? [fieldErrors.forbidden(field, "`parameters.scope` is set to 'Cluster'")]
    : []
}

/** Returns a function that reports whether a network is a strict subset of this one. */
function subsetOf(outer: string): (inner: string) => boolean {
  const [written = '', outerLength = ''] = outer.split('/')
  const base = withoutLeadingZeros(written)
  const isV6 = base.includes(':')
  const network = new BlockList()
  network.addSubnet(base, Number(outerLength), isV6 ? 'ipv6' : 'ipv4')
  return (inner) => {
    const [address = '', length = ''] = inner.split('/')
    if (Number(length) <= Number(outerLength) || address.includes(':') !== isV6) return false
    return network.check(withoutLeadingZeros(address), isV6 ? 'ipv6' : 'ipv4')
  }
}
