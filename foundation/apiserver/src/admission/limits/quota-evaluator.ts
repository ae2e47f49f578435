// Measures objects for ResourceQuotas, by resource (pkg/quota/v1/evaluator, v1.35): the number of objects of every
// resource, and the amounts of pods, services, claims of volumes and claims of devices. Start with quotaEvaluator.
import { addQuantities, compareQuantities, parseQuantity, subtractQuantities } from '@fairlead/kube'
import type { KubeObject, Quantity } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import type { AdmissionAttributes } from '../attributes.ts'
import { podEvaluator } from './quota-pods.ts'
import type { ScopeRequirement } from './quota-scope.ts'
import { matchesValues } from './quota-scope.ts'
import { count, resourceList } from './resource-list.ts'
import type { ResourceList, ResourceStrings } from './resource-list.ts'

/** Measures the objects of one resource. */
export interface QuotaEvaluator {
  /** Returns true when a write may change the usage. */
  handles(operation: AdmissionAttributes['operation'], subresource: string): boolean
  /** Returns true when it measures what a quota limits under this name. */
  measures(name: string): boolean
  /** Returns what an object uses. `now`: milliseconds since the epoch. */
  usage(object: KubeObject, now: number): ResourceList
  /** Returns true when the object is in a scope; without it quotas with scopes do not apply. */
  isInScope?(scope: ScopeRequirement, object: KubeObject): boolean
  /** Returns the error of an object that does not set what these limits need. */
  constraintError?(names: readonly string[], object: KubeObject): string | undefined
}

const isCreate = (operation: string, subresource: string): boolean => operation === 'CREATE' && subresource === ''
const isWrite = (operation: string, subresource: string): boolean =>
  (operation === 'CREATE' || operation === 'UPDATE') && subresource === ''

/** Resources that no quota limits: events, and those that are not stored. */
const ignored: ReadonlySet<string> = new Set([
  'bindings.',
  'componentstatuses.',
  'events.',
  'events.events.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
])

/** Resources that are also counted by their plain name, from before `count/`. */
const countedByName: ReadonlySet<string> = new Set([
  'configmaps',
  'resourcequotas',
  'replicationcontrollers',
  'secrets',
])

const evaluators = new WeakMap<ResourceDefinition, QuotaEvaluator>()

/** Returns the evaluator of a resource; undefined for one that no quota limits. */
export function quotaEvaluator(definition: ResourceDefinition): QuotaEvaluator | undefined {
  const { group, plural, namespaced, origin } = definition
  if (!namespaced || (origin !== 'builtin' && origin !== 'custom') || ignored.has(`${plural}.${group}`))
    return undefined
  let evaluator = evaluators.get(definition)
  if (evaluator === undefined) evaluators.set(definition, (evaluator = newEvaluator(group, plural)))
  return evaluator
}

function newEvaluator(group: string, plural: string): QuotaEvaluator {
  const counted = countName(group, plural)
  if (group === '' && plural === 'pods') return podEvaluator(counted)
  if (group === '' && plural === 'services') return serviceEvaluator(counted)
  if (group === '' && plural === 'persistentvolumeclaims') return claimEvaluator(counted)
  if (group === 'resource.k8s.io' && plural === 'resourceclaims') return deviceClaimEvaluator(counted)
  const names = group === '' && countedByName.has(plural) ? [counted, plural] : [counted]
  const usage: ResourceList = new Map(names.map((name) => [name, count(1)]))
  return { handles: isCreate, measures: (name) => names.includes(name), usage: () => usage }
}

/** Returns the name that counts the objects of a resource: `count/deployments.apps`. */
function countName(group: string, plural: string): string {
  return group === '' ? `count/${plural}` : `count/${plural}.${group}`
}

interface ServiceSpec {
  readonly type?: string
  readonly ports?: readonly { readonly nodePort?: number }[]
  readonly allocateLoadBalancerNodePorts?: boolean
}

/** Services: their number, node ports and load balancers. */
function serviceEvaluator(counted: string): QuotaEvaluator {
  const names = new Set([counted, 'services', 'services.nodeports', 'services.loadbalancers'])
  return {
    handles: isWrite,
    measures: (name) => names.has(name),
    usage({ spec }) {
      const { type, ports = [], allocateLoadBalancerNodePorts } = (spec ?? {}) as ServiceSpec
      const isBalanced = type === 'LoadBalancer'
      const nodePorts =
        isBalanced && allocateLoadBalancerNodePorts === false
          ? ports.filter(({ nodePort = 0 }) => nodePort !== 0).length
          : isBalanced || type === 'NodePort'
            ? ports.length
            : 0
      return new Map([
        [counted, count(1)],
        ['services', count(1)],
        ['services.nodeports', count(nodePorts)],
        ['services.loadbalancers', count(isBalanced ? 1 : 0)],
      ])
    },
  }
}

interface ClaimSpec {
  readonly storageClassName?: string
  readonly volumeAttributesClassName?: string
  readonly resources?: { readonly requests?: ResourceStrings }
}

interface ClaimStatus {
  readonly allocatedResources?: ResourceStrings
  readonly currentVolumeAttributesClassName?: string
  readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string }
}

const classSuffix = '.storageclass.storage.k8s.io/'

/** Claims of volumes: their number and storage, in all and by storage class. */
function claimEvaluator(counted: string): QuotaEvaluator {
  const names = new Set([counted, 'persistentvolumeclaims', 'requests.storage'])
  return {
    handles: isWrite,
    measures: (name) =>
      names.has(name) ||
      name.endsWith(`${classSuffix}requests.storage`) ||
      name.endsWith(`${classSuffix}persistentvolumeclaims`),
    usage(object) {
      const spec = (object['spec'] ?? {}) as ClaimSpec
      const storageClass = storageClassOf(object, spec)
      const usage = new Map<string, Quantity>([
        [counted, count(1)],
        ['persistentvolumeclaims', count(1)],
      ])
      if (storageClass !== '') usage.set(`${storageClass}${classSuffix}persistentvolumeclaims`, count(1))
      const storage = storageOf(spec, (object['status'] ?? {}) as ClaimStatus)
      if (storage === undefined) return usage
      usage.set('requests.storage', storage)
      if (storageClass !== '') usage.set(`${storageClass}${classSuffix}requests.storage`, storage)
      return usage
    },
    isInScope(scope, object) {
      if (scope.scopeName !== 'VolumeAttributesClass') return false
      const { volumeAttributesClassName } = (object['spec'] ?? {}) as ClaimSpec
      const { currentVolumeAttributesClassName, modifyVolumeStatus } = (object['status'] ?? {}) as ClaimStatus
      const target = modifyVolumeStatus?.targetVolumeAttributesClassName
      const values = [volumeAttributesClassName, currentVolumeAttributesClassName, target].filter(Boolean)
      return (values.length === 0 ? [undefined] : values).some((value) => matchesValues(scope, value))
    },
  }
}

function storageClassOf({ metadata }: KubeObject, { storageClassName = '' }: ClaimSpec): string {
  return metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? storageClassName
}

/** Returns the requested storage, or that of an expansion under way when it is more. */
function storageOf({ resources }: ClaimSpec, { allocatedResources }: ClaimStatus): Quantity | undefined {
  const requested = resourceList(resources?.requests).get('storage')
  const allocated = resourceList(allocatedResources).get('storage')
  if (requested === undefined || allocated === undefined) return requested
  return compareQuantities(allocated, requested) > 0 ? allocated : requested
}

interface DeviceRequest {
  readonly deviceClassName?: string
  readonly allocationMode?: string
  readonly count?: number
  readonly exactly?: DeviceRequest
  readonly firstAvailable?: readonly DeviceRequest[]
}

/** Maximum number of devices of one request (AllocationResultsMaxSize of resource.k8s.io). */
const maxDevices = 32

/** Claims of devices: their number, and the devices by device class; alternatives count by the largest. */
function deviceClaimEvaluator(counted: string): QuotaEvaluator {
  const suffix = '.deviceclass.resource.k8s.io/devices'
  return {
    handles: isCreate,
    measures: (name) => name === counted || name.endsWith(suffix),
    usage({ spec }) {
      const usage = new Map<string, Quantity>([[counted, count(1)]])
      const { devices } = (spec ?? {}) as { devices?: { requests?: readonly DeviceRequest[] } }
      for (const request of devices?.requests ?? []) {
        const largest = new Map<string, number>()
        for (const choice of request.firstAvailable ?? [request.exactly ?? request]) {
          if (choice.deviceClassName === undefined) continue
          const number = choice.allocationMode === 'All' ? maxDevices : (choice.count ?? 1)
          largest.set(choice.deviceClassName, Math.max(number, largest.get(choice.deviceClassName) ?? 0))
        }
        for (const [deviceClass, number] of largest) {
          const name = `${deviceClass}${suffix}`
          const known = usage.get(name)
          usage.set(name, known === undefined ? count(number) : addQuantities(known, count(number)))
        }
      }
      return usage
    },
  }
}

/** Returns what `usage` is above `before`, by resource. */
export function growth(usage: ResourceList, before: ResourceList): ResourceList {
  const zero = parseQuantity('0')
  return new Map(
    [...usage].map(([name, amount]) => {
      const known = before.get(name) ?? zero
      return [name, compareQuantities(amount, known) > 0 ? subtractQuantities(amount, known) : zero]
    }),
  )
}
