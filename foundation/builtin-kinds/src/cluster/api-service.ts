// APIServices.
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { dns1035Label, fieldErrors, formatTime, pathSegmentName } from '@fairlead/kube'
import { invalidWith, subdomainName } from '../checks.ts'
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
  allowUnconditionalUpdate: false,
  validateName: (name, prefix) => (prefix ? [] : pathSegmentName(name)),
  validate: (object) => [...nameErrors(object), ...apiServiceErrors(object)],
  validateUpdate: (object) => [...nameErrors(object), ...apiServiceErrors(object)],
}

/** Checks that the name and the prefix of a generated one are the version and group. */
function nameErrors({ metadata, ...object }: KubeObject): FieldError[] {
  const required = `${stringAt(object, 'spec', 'version')}.${stringAt(object, 'spec', 'group')}`
  return (['generateName', 'name'] as const).flatMap((field) => {
    const name = metadata[field] ?? ''
    if (name === '' || name === required || pathSegmentName(name).length > 0) return []
    return [fieldErrors.invalid(`metadata.${field}`, name, `must be \`spec.version+"."+spec.group\`: "${required}"`)]
  })
}

function apiServiceErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const [group, version] = [stringAt(spec, 'group'), stringAt(spec, 'version')]
  const errors: FieldError[] = []
  if (group !== '') errors.push(...subdomainName('spec.group', group))
  else if (version !== 'v1')
    errors.push(fieldErrors.required('spec.group', 'only v1 may have an empty group and it better be legacy kube'))
  errors.push(...invalidWith('spec.version', version, dns1035Label(version)))
  for (const field of ['groupPriorityMinimum', 'versionPriority']) {
    const value = numberAt(spec, field) ?? 0
    const limit = field === 'versionPriority' ? 1000 : 20_000
    if (value <= 0 || value > limit)
      errors.push(fieldErrors.invalid(`spec.${field}`, value, `must be positive and less than ${limit}`))
  }
  return [...errors, ...(has(spec, 'service') ? remoteErrors(spec) : localErrors(spec))]
}

function remoteErrors(spec: JsonObject): FieldError[] {
  const errors = ['namespace', 'name']
    .filter((field) => stringAt(spec, 'service', field) === '')
    .map((field) => fieldErrors.required(`spec.service.${field}`))
  const port = numberAt(spec, 'service', 'port') ?? 0
  if (port < 1 || port > 65_535)
    errors.push(
      fieldErrors.invalid('spec.service.port', port, 'port is not valid: must be between 1 and 65535, inclusive'),
    )
  if (flagAt(spec, 'insecureSkipTLSVerify') && stringAt(spec, 'caBundle') !== '')
    errors.push(fieldErrors.invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'))
  return errors
}

function localErrors(spec: JsonObject): FieldError[] {
  const bytes = Buffer.from(stringAt(spec, 'caBundle'), 'base64').length
  return [
    ...(bytes > 0
      ? [fieldErrors.invalid('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle')]
      : []),
    ...(flagAt(spec, 'insecureSkipTLSVerify')
      ? [
          fieldErrors.invalid(
            'spec.insecureSkipTLSVerify',
            true,
            'local APIServices may not have insecureSkipTLSVerify',
          ),
        ]
      : []),
  ]
}
