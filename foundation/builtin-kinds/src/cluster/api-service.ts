// APIServices.
import type { FieldError, KubeObject } from '@fairlead/kube'
import { fieldErrors, formatTime } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { ensureAt, fill, flagAt, has, numberAt, objectAt, stringAt } from '../fields.ts'

/** The strategy of APIServices: the name is the version and group that they serve. */
export const apiServiceStrategy: Strategy = {
  hasStatus: true,
  applyDefaults(object) {
    if (has(objectAt(object, 'spec'), 'service')) fill(ensureAt(object, 'spec', 'service'), { port: 443 })
  },
  prepareForCreate(object, { now }) {
    if (has(objectAt(object, 'spec'), 'service')) return
    object['status'] = {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          lastTransitionTime: formatTime(now),
          reason: 'Local',
          message: 'Local APIServices are always available',
        },
      ],
    }
  },
  validate: apiServiceErrors,
  validateUpdate: apiServiceErrors,
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
  const field = 'spec.insecureSkipTLSVerify'
  if (flagAt(spec, 'insecureSkipTLSVerify') && stringAt(spec, 'caBundle') !== '')
    errors.push(fieldErrors.invalid(field, true, 'may not be true if caBundle is present'))
  return errors
}
