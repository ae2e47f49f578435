// Warnings of the API server about a pod's spec, alone or in a template (pkg/api/pod/warnings.go, v1.35).
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { dns1123Label, fieldPath, goQuote, jsonEqual, parseQuantity } from '@fairlead/kube'
import { addressWarnings } from '../addresses/address-warnings.ts'
import { has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { goName } from '../go-types/internal-form.ts'
import { overlappingPathWarnings } from './overlapping-paths.ts'

/**
 * Returns the warnings of an object with its PodSpec at `path` (`['spec', 'template', 'spec']`). An update without
 * changes of the spec has none.
 */
export function podWarnings(object: KubeObject, old: KubeObject | undefined, path: readonly string[]): string[] {
  const spec = objectAt(object, ...path)
  if (old !== undefined && jsonEqual(spec, objectAt(old, ...path))) return []
  const field = path.join('.')
  const meta = [...path.slice(0, -1), 'metadata']
  const annotations = mapAt(object, ...meta, 'annotations')
  return [
    ...nodeLabelWarnings(`${field}.nodeSelector`, mapAt(spec, 'nodeSelector')),
    ...nodeAffinityWarnings(`${field}.affinity.nodeAffinity`, objectAt(spec, 'affinity', 'nodeAffinity')),
    ...spreadWarnings(`${field}.topologySpreadConstraints`, objectsAt(spec, 'topologySpreadConstraints')),
    ...annotationWarnings(`${meta.join('.')}.annotations`, annotations, path.length > 1, spec),
    ...volumeWarnings(`${field}.volumes`, objectsAt(spec, 'volumes')),
    ...overlappingPathWarnings(objectsAt(spec, 'volumes')),
    ...repeated(`${field}.hostAliases`, objectsAt(spec, 'hostAliases'), 'ip'),
    ...repeated(`${field}.imagePullSecrets`, objectsAt(spec, 'imagePullSecrets'), 'name'),
    ...objectsAt(spec, 'imagePullSecrets').flatMap((secret, index) =>
      stringAt(secret, 'name') === ''
        ? [`${fieldPath(`${field}.imagePullSecrets`, index, 'name')}: invalid empty name ""`]
        : [],
    ),
    ...containersOf(field, spec).flatMap(([place, container]) => containerWarnings(place, container)),
    ...portWarnings(containersOf(field, spec)),
    ...((numberAt(spec, 'terminationGracePeriodSeconds') ?? 0) < 0
      ? [`${field}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
    ...podAffinityWarnings(`${field}.affinity`, objectAt(spec, 'affinity')),
    ...stringsAt(spec, 'dnsConfig', 'nameservers').flatMap((address, index) =>
      addressWarnings(fieldPath(field, 'dnsConfig', 'nameservers', index), address),
    ),
    ...objectsAt(spec, 'hostAliases').flatMap((alias, index) =>
      addressWarnings(fieldPath(field, 'hostAliases', index, 'ip'), stringAt(alias, 'ip')),
    ),
  ]
}

const [required, preferred] = [
  'requiredDuringSchedulingIgnoredDuringExecution',
  'preferredDuringSchedulingIgnoredDuringExecution',
]

function nodeAffinityWarnings(field: string, affinity: JsonObject): string[] {
  const terms: [string, JsonObject][] = [
    ...objectsAt(affinity, required, 'nodeSelectorTerms').map((term, index): [string, JsonObject] => [
      fieldPath(field, required, 'nodeSelectorTerms', index),
      term,
    ]),
    ...objectsAt(affinity, preferred).map((term, index): [string, JsonObject] => [
      fieldPath(field, preferred, index, 'preference'),
      objectAt(term, 'preference'),
    ]),
  ]
  return terms.flatMap(([path, term]) =>
    objectsAt(term, 'matchExpressions').flatMap((requirement, index) =>
      renamedLabelWarnings(fieldPath(path, 'matchExpressions', index, 'key'), stringAt(requirement, 'key')),
    ),
  )
}

/** Returns the warnings about terms without a selector, which match no pod. */
function podAffinityWarnings(field: string, affinity: JsonObject): string[] {
  return ['podAffinity', 'podAntiAffinity'].flatMap((kind) => [
    ...objectsAt(affinity, kind, required).flatMap((term, index) =>
      nullSelectorWarnings(fieldPath(field, kind, required, index), term),
    ),
    ...objectsAt(affinity, kind, preferred).flatMap((term, index) =>
      nullSelectorWarnings(
        fieldPath(field, kind, preferred, index, 'podAffinityTerm'),
        objectAt(term, 'podAffinityTerm'),
      ),
    ),
  ])
}

function nullSelectorWarnings(path: string, holder: JsonObject): string[] {
  return has(holder, 'labelSelector') ? [] : [`${path}.labelSelector: a null labelSelector results in matching no pod`]
}

function renamedLabelWarnings(path: string, key: string): string[] {
  return Object.hasOwn(renamedLabels, key) ? [`${path}: ${key} is ${renamedLabels[key]}`] : []
}

/** Returns the warning about the name of a new object that is part of the host names of pods: `what` uses it. */
export function hostNameWarnings(
  object: KubeObject,
  old: KubeObject | undefined,
  what = 'Pod names and hostnames',
): string[] {
  const messages = old === undefined ? dns1123Label(object.metadata.name ?? '') : []
  return messages.length === 0
    ? []
    : [
        `metadata.name: this is used in ${what}, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`,
      ]
}

function containersOf(field: string, spec: JsonObject): [string, JsonObject][] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    objectsAt(spec, list).map((container, index): [string, JsonObject] => [fieldPath(field, list, index), container]),
  )
}

/** Node labels that have a newer name. */
export const renamedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
}

function nodeLabelWarnings(field: string, selector: Readonly<Record<string, string>>): string[] {
  return Object.entries(renamedLabels).flatMap(([label, warning]) =>
    Object.hasOwn(selector, label) ? [`${fieldPath(field, { key: label })}: ${warning}`] : [],
  )
}

function spreadWarnings(field: string, constraints: readonly JsonObject[]): string[] {
  return constraints.flatMap((constraint, index) => {
    const path = fieldPath(field, index)
    return [
      ...renamedLabelWarnings(`${path}.topologyKey`, stringAt(constraint, 'topologyKey')),
      ...nullSelectorWarnings(path, constraint),
    ]
  })
}

const oldAnnotations: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
}

function annotationWarnings(
  field: string,
  annotations: Readonly<Record<string, string>>,
  isTemplate: boolean,
  spec: JsonObject,
): string[] {
  const about = (key: string, message: string): string[] =>
    Object.hasOwn(annotations, key) ? [`${fieldPath(field, { key })}: ${message}`] : []
  const profile = 'non-functional in v1.27+; use the "seccompProfile" field instead'
  const hasProfile = has(objectAt(spec, 'securityContext'), 'seccompProfile')
  return [
    ...Object.entries(oldAnnotations).flatMap(([key, message]) => about(key, message)),
    ...(hasProfile ? [] : about('seccomp.security.alpha.kubernetes.io/pod', profile)),
    ...containersOf('', spec).flatMap(([, container]) => {
      const name = stringAt(container, 'name')
      const context = objectAt(container, 'securityContext')
      return [
        ...(has(context, 'seccompProfile')
          ? []
          : about(`container.seccomp.security.alpha.kubernetes.io/${name}`, profile)),
        ...(isTemplate && !has(context, 'appArmorProfile')
          ? about(
              `container.apparmor.security.beta.kubernetes.io/${name}`,
              'deprecated since v1.30; use the "appArmorProfile" field instead',
            )
          : []),
      ]
    }),
  ]
}

const oldVolumes: readonly (readonly [source: string, message: string, shown?: string])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

function volumeWarnings(field: string, volumes: readonly JsonObject[]): string[] {
  return volumes.flatMap((volume, index) =>
    oldVolumes.flatMap(([source, message, shown = source]) =>
      has(volume, source) ? [`${fieldPath(field, index, shown)}: ${message}`] : [],
    ),
  )
}

function repeated(field: string, items: readonly JsonObject[], key: string): string[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const value = stringAt(item, key)
    if (seen.has(value)) return [`${fieldPath(field, index, key)}: duplicate ${key} ${goQuote(value)}`]
    seen.add(value)
    return []
  })
}

function containerWarnings(path: string, container: JsonObject): string[] {
  const bytes = ['memory', 'ephemeral-storage'].flatMap((name) =>
    ['limits', 'requests'].flatMap((list) => {
      const amount = mapAt(container, 'resources', list)[name]
      if (amount === undefined || parseQuantity(amount).nanos % 1_000_000_000n === 0n) return []
      const place = fieldPath(`${path}.resources.${list}`, { key: name })
      return [`${place}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`]
    }),
  )
  return [...bytes, ...environmentWarnings(`${path}.env`, container)]
}

/** Returns the warnings about duplicate variables: server-side apply and strategic merge keep only one. */
function environmentWarnings(field: string, container: JsonObject): string[] {
  const seen = new Set<string>()
  return objectsAt(container, 'env').flatMap((variable, index) => {
    const name = stringAt(variable, 'name')
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    const reference = `$(${name})`
    const value = stringAt(variable, 'value')
    // A value that refers to the previous one is intentional.
    if (!has(variable, 'valueFrom') && value !== reference && value.includes(reference)) return []
    return [
      `${fieldPath(field, index)}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`,
    ]
  })
}

/** Ports that clash are compared until so many warnings are reported; a response carries no more. */
const portClashLimit = 100

interface PlacedPort {
  readonly place: string
  readonly port: JsonObject
  readonly order: number
}

function portWarnings(containers: readonly [string, JsonObject][]): string[] {
  // By container port and protocol, of these all, those of a host port, and those of a host port and address.
  const taken = new Map<string, PlacedPort[]>()
  const placed = (...key: readonly JsonValue[]): PlacedPort[] => {
    const text = JSON.stringify(key)
    let list = taken.get(text)
    if (list === undefined) taken.set(text, (list = []))
    return list
  }
  let order = 0
  let reported = 0
  return containers.flatMap(([path, container]) =>
    objectsAt(container, 'ports').flatMap((port, index) => {
      if (reported > portClashLimit) return []
      const place = fieldPath(path, 'ports', index)
      const key = [numberAt(port, 'containerPort') ?? null, stringAt(port, 'protocol')] as const
      const [host, ip] = [numberAt(port, 'hostPort') ?? 0, stringAt(port, 'hostIP')]
      const unused = host === 0 && ip !== '' ? [`${place}: hostIP set without hostPort: ${shownPort(port)}`] : []
      const others =
        host === 0
          ? placed(...key)
          : [
              ...placed(...key, 0),
              ...(ip === '' ? placed(...key, host) : [...placed(...key, host, ''), ...placed(...key, host, ip)]),
            ].sort((a, b) => a.order - b.order)
      const clashes = others.flatMap((other) => {
        const kind = clash(port, other.port)
        return kind === '' ? [] : [`${place}: ${kind} port definition with ${other.place}`]
      })
      const own = { place, port, order: order++ }
      for (const list of [placed(...key), placed(...key, host), placed(...key, host, ip)]) list.push(own)
      reported += clashes.length
      return [...unused, ...clashes]
    }),
  )
}

/** Returns a port as Go prints its struct. */
function shownPort(port: JsonObject): string {
  const fields = ['name', 'hostPort', 'containerPort', 'protocol', 'hostIP'].map((name) => {
    const value = port[name] ?? (name.endsWith('Port') ? 0 : '')
    return `${goName(name)}:${String(value)}`
  })
  return `{${fields.join(' ')}}`
}

function clash(port: JsonObject, other: JsonObject): string {
  const [host, otherHost] = [numberAt(port, 'hostPort') ?? 0, numberAt(other, 'hostPort') ?? 0]
  const [ip, otherIp] = [stringAt(port, 'hostIP'), stringAt(other, 'hostIP')]
  if (ip === otherIp && host === otherHost) return 'duplicate'
  if (host === 0 || otherHost === 0) return 'overlapping'
  return host === otherHost && (ip === '') !== (otherIp === '') ? 'dangerously ambiguous' : ''
}
