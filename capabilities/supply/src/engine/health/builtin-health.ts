// Health of well-known kinds, for templates whose rule is `auto`: the rules that kubectl, kstatus and Argo CD agree on
// (originals/cartographer.md §6).
import { findCondition, parseApiVersion } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import type { ConditionStatus } from '../conditions/condition.ts'

/** Health with a message. */
export interface BuiltinHealth {
  readonly status: ConditionStatus
  readonly message: string
}

type HealthCheck = (spec: Fields, status: Fields, object: KubeObject) => BuiltinHealth
type Fields = Readonly<Record<string, unknown>>

const healthy = (message: string): BuiltinHealth => ({ status: 'True', message })
const unhealthy = (message: string): BuiltinHealth => ({ status: 'False', message })
const unknown = (message: string): BuiltinHealth => ({ status: 'Unknown', message })

const checks: Readonly<Record<string, HealthCheck>> = {
  'apps/Deployment': (spec, status) => {
    const progressing = conditionOf(status, 'Progressing')
    if (progressing?.reason === 'ProgressDeadlineExceeded') return unhealthy(progressing.message)
    return replicas(numberOf(spec['replicas'], 1), status['updatedReplicas'], status['availableReplicas'])
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
    if (failed?.status === 'True') return unhealthy(failed.message)
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
    if (accepted?.status === 'False') return unhealthy(accepted.message)
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

function conventions(status: Fields): BuiltinHealth | undefined {
  const stalled = conditionOf(status, 'Stalled')
  if (stalled?.status === 'True') return unhealthy(stalled.message)
  const reconciling = conditionOf(status, 'Reconciling')
  if (reconciling?.status === 'True') return unknown(reconciling.message)
  const ready = conditionOf(status, 'Ready')
  return ready === undefined ? undefined : { status: ready.status, message: ready.message }
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
