// PriorityClasses: those of the system, and the one that pods without a class have.
import type { FieldError, KubeObject } from '@fairlead/kube'
import { fieldErrors, forbidden } from '@fairlead/kube'
import { immutable, oneOf } from '../checks.ts'
import type { Strategy, WriteContext } from '../definition/strategy.ts'
import { fill, flagAt, numberAt, stringAt } from '../fields.ts'

const highestUserPriority = 1_000_000_000
const resource = { group: 'scheduling.k8s.io', plural: 'priorityclasses' }

/** The classes that every server has. They cannot be deleted. */
export const systemPriorityClasses: readonly KubeObject[] = [
  systemClass(
    'system-node-critical',
    2 * highestUserPriority + 1000,
    'Used for system critical pods that must not be moved from their current node.',
  ),
  systemClass(
    'system-cluster-critical',
    2 * highestUserPriority,
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  ),
]

const systemNames: ReadonlySet<string> = new Set(systemPriorityClasses.map(({ metadata }) => metadata.name!))

/** @throws StatusError 403 for a class of the system */
export function refuseDeletionOfPriorityClass(name: string): void {
  if (systemNames.has(name)) throw forbidden(resource, name, 'this is a system priority class and cannot be deleted')
}

/** Returns a class by name; undefined when there is none. Those of the system are there even where none are stored. */
export function priorityClass(context: WriteContext, name: string): KubeObject | undefined {
  return (
    context.read('priorityclasses.scheduling.k8s.io', name) ??
    systemPriorityClasses.find(({ metadata }) => metadata.name === name)
  )
}

/** Returns the class of pods that name none: of several, the one with the lowest priority. */
export function defaultPriorityClass(context: WriteContext): KubeObject | undefined {
  return [...(context.list?.('priorityclasses.scheduling.k8s.io') ?? [])]
    .filter((object) => flagAt(object, 'globalDefault'))
    .toSorted((a, b) => (numberAt(a, 'value') ?? 0) - (numberAt(b, 'value') ?? 0))[0]
}

/** The strategy of PriorityClasses. */
export const priorityClassStrategy: Strategy = {
  allowCreateOnUpdate: false,
  tracksGeneration: true,
  keepsGeneration: true,
  applyDefaults(object) {
    fill(object, { preemptionPolicy: 'PreemptLowerPriority' })
  },
  validate(object, context) {
    const errors = classErrors(object)
    if (errors.length === 0) refuseSecondDefault(object, context)
    return errors
  },
  validateUpdate(object, old, context) {
    const policy = stringAt(object, 'preemptionPolicy')
    const errors = [
      ...(numberAt(object, 'value') === numberAt(old, 'value')
        ? []
        : [fieldErrors.forbidden('value', 'may not be changed in an update.')]),
      ...(policy === stringAt(old, 'preemptionPolicy')
        ? []
        : immutable('preemptionPolicy', policy, stringAt(old, 'preemptionPolicy'))),
    ]
    if (errors.length === 0) refuseSecondDefault(object, context)
    return errors
  },
}

/** The admission plugin Priority: one class at most is the default. */
function refuseSecondDefault(object: KubeObject, context: WriteContext): void {
  if (!flagAt(object, 'globalDefault')) return
  const { name = '' } = object.metadata
  const other = defaultPriorityClass(context)?.metadata.name
  if (other === undefined || other === name) return
  throw forbidden(resource, name, `PriorityClass ${other} is already marked as default. Only one default can exist`)
}

function classErrors(object: KubeObject): FieldError[] {
  const name = object.metadata.name ?? ''
  const errors: FieldError[] = []
  if (name.startsWith('system-')) {
    if (!systemNames.has(name)) {
      errors.push(
        fieldErrors.forbidden(
          'metadata.name',
          `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
        ),
      )
    }
  } else if ((numberAt(object, 'value') ?? 0) > highestUserPriority) {
    errors.push(
      fieldErrors.forbidden('value', `maximum allowed value of a user defined priority is ${highestUserPriority}`),
    )
  }
  return [
    ...errors,
    ...oneOf('preemptionPolicy', stringAt(object, 'preemptionPolicy'), ['PreemptLowerPriority', 'Never']),
  ]
}

function systemClass(name: string, value: number, description: string): KubeObject {
  return {
    kind: 'PriorityClass',
    apiVersion: 'scheduling.k8s.io/v1',
    metadata: { name, generation: 1 },
    value,
    description,
    preemptionPolicy: 'PreemptLowerPriority',
  }
}
