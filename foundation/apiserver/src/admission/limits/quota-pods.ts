// Measures pods for ResourceQuotas (pkg/quota/v1/evaluator/core/pods.go, v1.35). Pods that have ended count only as
// objects.
import { isExtendedResource, qualityOfService } from '@fairlead/builtin-kinds'
import type { JsonObject, KubeObject, Quantity } from '@fairlead/kube'
import { podLimits, podRequests } from './pod-resources.ts'
import type { ResourceContainer, ResourcePodSpec } from './pod-resources.ts'
import type { QuotaEvaluator } from './quota-evaluator.ts'
import { matchesValues } from './quota-scope.ts'
import type { ScopeRequirement } from './quota-scope.ts'
import { count, resourceList } from './resource-list.ts'
import type { ResourceList } from './resource-list.ts'

interface AffinityTerm {
  readonly namespaces?: readonly string[]
  readonly namespaceSelector?: JsonObject
}

interface Affinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[]
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly podAffinityTerm: AffinityTerm }[]
}

interface PodSpec extends ResourcePodSpec {
  readonly activeDeadlineSeconds?: number
  readonly priorityClassName?: string
  readonly affinity?: { readonly podAffinity?: Affinity; readonly podAntiAffinity?: Affinity }
}

const computeResources = ['cpu', 'memory', 'ephemeral-storage']

const podResources: ReadonlySet<string> = new Set([
  'pods',
  ...computeResources.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
])

/** Resources that every container must set when a quota limits them. */
const demanded: ReadonlySet<string> = new Set(
  ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
)

/** Returns the evaluator of pods. `counted` is the name that counts objects. */
export function podEvaluator(counted: string): QuotaEvaluator {
  return {
    handles: (operation, subresource) =>
      (operation === 'CREATE' && subresource === '') || (operation === 'UPDATE' && subresource === 'resize'),
    measures: (name) => name === counted || podResources.has(name) || isPrefixed(name),
    usage(pod, now) {
      const objects: ResourceList = new Map([[counted, count(1)]])
      if (hasEnded(pod, now)) return objects
      const spec = specOf(pod)
      return new Map([...objects, ...computeUsage(podRequests(spec), podLimits(spec))])
    },
    isInScope: (scope, pod) => isInScope(scope, pod),
    constraintError,
  }
}

function specOf({ spec }: KubeObject): PodSpec {
  return (spec ?? {}) as PodSpec
}

/** Huge pages, and requests of extended resources. */
function isPrefixed(name: string): boolean {
  if (name.startsWith('hugepages-') || name.startsWith('requests.hugepages-')) return true
  return name.startsWith('requests.') && name.includes('/') && !name.includes('kubernetes.io/')
}

/** Returns the amounts under the names that quotas use. */
function computeUsage(requests: ResourceList, limits: ResourceList): Map<string, Quantity> {
  const usage = new Map([['pods', count(1)]])
  for (const [name, amount] of requests) {
    const isPlain = computeResources.includes(name) || name.startsWith('hugepages-')
    if (isPlain) usage.set(name, amount)
    if (isPlain || isExtendedResource(name)) usage.set(`requests.${name}`, amount)
  }
  for (const [name, amount] of limits) if (computeResources.includes(name)) usage.set(`limits.${name}`, amount)
  return usage
}

/** Returns true for a completed pod, and for a terminating one after its grace period. */
function hasEnded({ metadata, status }: KubeObject, now: number): boolean {
  const { phase } = (status ?? {}) as { phase?: string }
  if (phase === 'Failed' || phase === 'Succeeded') return true
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false
  return now > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

function isInScope(scope: ScopeRequirement, pod: KubeObject): boolean {
  const spec = specOf(pod)
  switch (scope.scopeName) {
    case 'Terminating':
      return (spec.activeDeadlineSeconds ?? -1) >= 0
    case 'NotTerminating':
      return (spec.activeDeadlineSeconds ?? -1) < 0
    case 'BestEffort':
      return qualityOfService(spec as unknown as JsonObject) === 'BestEffort'
    case 'NotBestEffort':
      return qualityOfService(spec as unknown as JsonObject) !== 'BestEffort'
    case 'PriorityClass':
      return matchesValues(scope, spec.priorityClassName === '' ? undefined : spec.priorityClassName)
    case 'CrossNamespacePodAffinity':
      return [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].some(crossesNamespaces)
    default:
      return false
  }
}

function crossesNamespaces(affinity: Affinity | undefined): boolean {
  const terms = [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((weighted) => weighted.podAffinityTerm),
  ]
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  )
}

/**
 * Returns the error of a pod whose containers do not set all of the cpu and memory that a quota limits; a pod with
 * resources of its own need not.
 */
function constraintError(names: readonly string[], pod: KubeObject): string | undefined {
  const spec = specOf(pod)
  if (hasPodLevelResources(spec)) return undefined
  const missing = names
    .filter((name) => demanded.has(name))
    .toSorted()
    .map((name) => [name, containersWithout(name, spec)] as const)
    .filter(([, containers]) => containers.length > 0)
  if (missing.length === 0) return undefined
  return `must specify ${missing.map(([name, containers]) => `${name} for: ${containers.join(',')}`).join('; ')}`
}

function hasPodLevelResources({ resources }: PodSpec): boolean {
  return [resources?.requests, resources?.limits].some((list) =>
    Object.keys(list ?? {}).some((name) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')),
  )
}

function containersWithout(name: string, { containers = [], initContainers = [] }: PodSpec): readonly string[] {
  const lacks = ({ resources }: ResourceContainer): boolean =>
    !computeUsage(resourceList(resources?.requests), resourceList(resources?.limits)).has(name)
  const lacking = [...containers, ...initContainers].filter(lacks).map((container) => container.name)
  return [...new Set(lacking)].toSorted()
}
