// Flow control: FlowSchemas and PriorityLevelConfigurations.
import { fieldErrors } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { ensureAt, fill, fillStrings, has, numberAt, stringAt } from '../fields.ts'

/** The strategy of FlowSchemas: stored and validated, but without effect on requests. */
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

/** The strategy of PriorityLevelConfigurations. */
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
    fillStrings(response, { type: 'Reject' })
    if (has(response, 'queuing')) fill(ensureAt(response, 'queuing'), { queues: 64, handSize: 8, queueLengthLimit: 50 })
  },
}
