// APIServices, certificate requests and flow control. CustomResourceDefinitions are in custom/.
import type { FieldError, KubeObject } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { ensureAt, fill, fillText, has, numberAt, objectAt, stringAt } from '../fields.ts'

/** Behaviour of APIServices: named after the version and group that they serve. */
export const apiServiceStrategy: Strategy = {
  hasStatus: true,
  applyDefaults(object) {
    if (has(objectAt(object, 'spec'), 'service')) fill(ensureAt(object, 'spec', 'service'), { port: 443 })
  },
  validate: apiServiceErrors,
  validateUpdate: apiServiceErrors,
}

/** Behaviour of FlowSchemas: accepted and kept; requests are not shaped by them. */
export const flowSchemaStrategy: Strategy = {
  statusKeeps: 'metadata',
  hasStatus: true,
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    if ((numberAt(spec, 'matchingPrecedence') ?? 0) === 0) spec['matchingPrecedence'] = 1000
  },
  validate: (object) =>
    stringAt(object, 'spec', 'priorityLevelConfiguration', 'name') === ''
      ? [fieldErrors.required('spec.priorityLevelConfiguration.name', 'must reference a priority level')]
      : [],
}

/** Behaviour of PriorityLevelConfigurations. */
export const priorityLevelStrategy: Strategy = {
  statusKeeps: 'metadata',
  hasStatus: true,
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    if (!has(spec, 'limited')) return
    const limited = ensureAt(spec, 'limited')
    fill(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 })
    const response = ensureAt(limited, 'limitResponse')
    fillText(response, { type: 'Reject' })
    if (has(response, 'queuing')) fill(ensureAt(response, 'queuing'), { queues: 64, handSize: 8, queueLengthLimit: 50 })
  },
}

function apiServiceErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const name = object.metadata.name ?? ''
  const required = `${stringAt(spec, 'version')}.${stringAt(spec, 'group')}`
  const errors: FieldError[] = []
  if (name !== required)
    errors.push(fieldErrors.invalid('metadata.name', name, `must be \`spec.version+"."+spec.group\`: "${required}"`))
  for (const field of ['groupPriorityMinimum', 'versionPriority']) {
    const value = numberAt(spec, field) ?? 0
    const limit = field === 'versionPriority' ? 1000 : 20_000
    if (value <= 0 || value > limit)
      errors.push(fieldErrors.invalid(`spec.${field}`, value, `must be positive and less than ${limit}`))
  }
  if (has(spec, 'service')) {
    for (const field of ['namespace', 'name'])
      if (stringAt(spec, 'service', field) === '') errors.push(fieldErrors.required(`spec.service.${field}`))
  }
  return errors
}
