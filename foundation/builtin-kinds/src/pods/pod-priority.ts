// The admission plugin Priority: a pod has the priority and the preemption policy of its PriorityClass.
import type { MutableJsonObject } from '@fairlead/kube'
import { forbidden } from '@fairlead/kube'
import { defaultPriorityClass, priorityClass } from './priority-class.ts'
import type { WriteContext } from '../definition/strategy.ts'
import { numberAt, stringAt } from '../fields.ts'

const pods = { group: '', plural: 'pods' }

/**
 * Sets the priority of a new pod: that of its class, else of the default class, else 0.
 * @throws StatusError 403 for a class that does not exist, and where the pod states another priority or policy
 */
export function resolvePriority(spec: MutableJsonObject, name: string, context: WriteContext): void {
  const named = stringAt(spec, 'priorityClassName')
  const found = named === '' ? defaultPriorityClass(context) : priorityClass(context, named)
  if (named !== '' && found === undefined) throw forbidden(pods, name, `no PriorityClass with name ${named} was found`)
  if (found !== undefined) spec['priorityClassName'] = found.metadata.name!
  const priority = numberAt(found, 'value') ?? 0
  const policy = stringAt(found, 'preemptionPolicy') || 'PreemptLowerPriority'
  const stated = spec['priority'] ?? priority
  const statedPolicy = spec['preemptionPolicy'] ?? policy
  const computed = (what: string, value: unknown, own: unknown): string =>
    `the ${what} (${String(value)}) must not be provided in pod spec; priority admission controller computed ${String(own)} from the given PriorityClass name`
  if (stated !== priority) throw forbidden(pods, name, computed('integer value of priority', stated, priority))
  if (statedPolicy !== policy)
    throw forbidden(pods, name, computed('string value of PreemptionPolicy', statedPolicy, policy))
  spec['priority'] = priority
  spec['preemptionPolicy'] = policy
}
