// Health of well-known kinds, and of objects that follow the conventions for conditions: the rules that kubectl,
// kstatus and Argo CD agree on (originals/cartographer.md §6).
import { findCondition } from './conditions.ts'
import type { Condition } from './conditions.ts'
import { parseApiVersion } from './object.ts'
import type { KubeObject } from './object.ts'

/** Health with a message: False is failed, Unknown may still become healthy. */
export interface BuiltinHealth {
  readonly status: Condition['status']
  /** The reason of the condition that decided; undefined when another field did. */
  readonly reason?: string
  readonly message: string
}

type HealthCheck = (spec: Fields, status: Fields, object: KubeObject) => BuiltinHealth
type Fields = Readonly<Record<string, unknown>>

const healthy = (message: string): BuiltinHealth => ({ status: 'True', message })
const unhealthy = (message: string): BuiltinHealth => ({ status: 'False', message })
const unknown = (message: string): BuiltinHealth => ({ status: 'Unknown', message })
const of = (status: Condition['status'], { reason, message }: Condition): BuiltinHealth => ({
  status,
  ...(reason === undefined || reason === '' ? {} : { reason }),
  message,
})

const checks: Readonly<Record<string, HealthCheck>> = {
  'apps/Deployment': (spec, status) => {
    const progressing = conditionOf(status, 'Progressing')
    if (progressing?.reason === 'ProgressDeadlineExceeded') return of('False', progressing)
    return replicas(numberOf(spec['replicas'], 1), status['updatedReplicas'], status['availableReplicas'])
  },
  'apps/ReplicaSet': (spec, status) => {
    const failure = conditionOf(status, 'ReplicaFailure')
    if (failure?.status === 'True') return of('False', failure)
    const [desired, available] = [numberOf(spec['replicas'], 1), numberOf(status['availableReplicas'], 0)]
    return available >= desired
      ? healthy(`${available} of ${desired} are available`)
      : unknown(`${available} of ${desired} are available`)
  },
  'apps/StatefulSet': (spec, status) =>
    replicas(
      numberOf(spec['replicas'], 1),
      status['updatedReplicas'] ?? status['currentReplicas'],
      status['readyReplicas'],
    ),
  'apps/DaemonSet': (_spec, status) =>
    status['desiredNumberScheduled'] === undefined
      ? unknown('the number of pods is not reported yet')
      : replicas(
          numberOf(status['desiredNumberScheduled'], 0),
          status['updatedNumberScheduled'],
          status['numberAvailable'],
        ),
  'batch/Job': (_spec, status) => {
    const failed = conditionOf(status, 'Failed')
    if (failed?.status === 'True') return of('False', failed)
    const complete = conditionOf(status, 'Complete')
    return complete?.status === 'True' ? healthy(complete.message) : unknown('the job is not complete')
  },
  '/Pod': (_spec, status) => {
    const phase = stringOf(status['phase'])
    if (phase === 'Succeeded') return healthy('the pod has succeeded')
    if (phase === 'Failed') return unhealthy(stringOf(status['message']) || 'the pod has failed')
    const ready = conditionOf(status, 'Ready')
    return phase === 'Running' && ready?.status === 'True'
      ? healthy('the pod is ready')
      : unknown(ready?.message || 'the pod is not ready')
  },
  '/PersistentVolumeClaim': (_spec, status) => {
    const phase = stringOf(status['phase'])
    if (phase === 'Bound') return healthy('the claim is bound')
    return phase === 'Lost' ? unhealthy('the volume of the claim is lost') : unknown('the claim is not bound')
  },
  '/Service': (spec, status) => {
    if (spec['type'] !== 'LoadBalancer') return healthy('the service exists')
    const ingress = (status['loadBalancer'] as Fields | undefined)?.['ingress']
    return Array.isArray(ingress) && ingress.length > 0
      ? healthy('the load balancer has an address')
      : unknown('the load balancer has no address')
  },
  'apiextensions.k8s.io/CustomResourceDefinition': (_spec, status) => {
    const accepted = conditionOf(status, 'NamesAccepted')
    if (accepted?.status === 'False') return of('False', accepted)
    return conditionOf(status, 'Established')?.status === 'True'
      ? healthy('the kind is served')
      : unknown('the kind is not served yet')
  },
}

/**
 * Returns the health of an object of a well-known kind, or of one that follows the conventions for Reconciling, Stalled
 * and Ready; undefined for others.
 */
export function builtinHealth(object: KubeObject): BuiltinHealth | undefined {
  const { group } = parseApiVersion(object.apiVersion)
  const check = checks[`${group}/${object.kind}`]
  const spec = (object.spec ?? {}) as Fields
  const status = (object.status ?? {}) as Fields
  return check === undefined ? conventions(status) : check(spec, status, object)
}

/**
 * Returns the message when status is about an earlier generation of the object; undefined when it is current, or says
 * nothing of generations.
 */
export function staleness(object: KubeObject): string | undefined {
  const { generation } = object.metadata
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: unknown }
  if (typeof observedGeneration !== 'number' || generation === undefined || observedGeneration >= generation)
    return undefined
  return `the status is about generation ${observedGeneration}, the object is at generation ${generation}`
}

function conventions(status: Fields): BuiltinHealth | undefined {
  const stalled = conditionOf(status, 'Stalled')
  if (stalled?.status === 'True') return of('False', stalled)
  const reconciling = conditionOf(status, 'Reconciling')
  if (reconciling?.status === 'True') return of('Unknown', reconciling)
  const ready = conditionOf(status, 'Ready')
  return ready === undefined ? undefined : of(ready.status, ready)
}

function replicas(desired: number, updated: unknown, available: unknown): BuiltinHealth {
  const [isUpdated, isAvailable] = [numberOf(updated, 0), numberOf(available, 0)]
  if (isUpdated >= desired && isAvailable >= desired) return healthy(`${isAvailable} of ${desired} are available`)
  return unknown(`${isUpdated} of ${desired} are updated, ${isAvailable} are available`)
}

function conditionOf(status: Fields, type: string): Condition | undefined {
  const { conditions } = status
  if (!Array.isArray(conditions)) return undefined
  const found = findCondition(conditions as readonly Condition[], type)
  if (found === undefined) return undefined
  const known = found.status === 'True' || found.status === 'False' ? found.status : 'Unknown'
  return { ...found, status: known, message: found.message ?? '' }
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
