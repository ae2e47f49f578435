// Flow control: FlowSchemas and PriorityLevelConfigurations (pkg/apis/flowcontrol/validation, v1.35). They are stored
// and validated, but without effect on requests.
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { dns1123Label, dns1123Subdomain, fieldErrors, fieldPath } from '@fairlead/kube'
import { invalidWith, oneOf, unsupportedStruct } from '../checks.ts'
import type { Strategy } from '../definition/strategy.ts'
import { ensureAt, fill, flagAt, has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

/** The strategy of FlowSchemas. */
export const flowSchemaStrategy: Strategy = {
  statusKeeps: 'metadata',
  hasStatus: true,
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    if ((numberAt(spec, 'matchingPrecedence') ?? 0) === 0) spec['matchingPrecedence'] = 1000
  },
  validate: flowSchemaErrors,
  validateUpdate: flowSchemaErrors,
  validateStatusUpdate: conditionErrors,
}

/** The strategy of PriorityLevelConfigurations. */
export const priorityLevelStrategy: Strategy = {
  statusKeeps: 'metadata',
  hasStatus: true,
  tracksGeneration: true,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    if (has(spec, 'exempt')) fill(ensureAt(spec, 'exempt'), { nominalConcurrencyShares: 0, lendablePercent: 0 })
    if (!has(spec, 'limited')) return
    const limited = ensureAt(spec, 'limited')
    fill(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 })
    const queuing = has(objectAt(limited, 'limitResponse'), 'queuing')
      ? ensureAt(limited, 'limitResponse', 'queuing')
      : undefined
    if (queuing === undefined) return
    for (const [field, value] of Object.entries({ queues: 64, handSize: 8, queueLengthLimit: 50 }))
      if ((numberAt(queuing, field) ?? 0) === 0) queuing[field] = value
  },
  validate: priorityLevelErrors,
  validateUpdate: priorityLevelErrors,
  validateStatusUpdate: conditionErrors,
}

const highestPrecedence = 10_000

function flowSchemaErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const precedence = numberAt(spec, 'matchingPrecedence') ?? 0
  const level = stringAt(spec, 'priorityLevelConfiguration', 'name')
  const errors: FieldError[] = []
  const invalidPrecedence = (detail: string): void => {
    errors.push(fieldErrors.invalid('spec.matchingPrecedence', precedence, detail))
  }
  if (precedence <= 0) invalidPrecedence('must be a positive value')
  if (precedence > highestPrecedence) invalidPrecedence(`must not be greater than ${highestPrecedence}`)
  if (precedence === 1 && object.metadata.name !== 'exempt')
    invalidPrecedence("only the schema named 'exempt' may have matchingPrecedence 1")
  const method = stringAt(spec, 'distinguisherMethod', 'type')
  if (has(spec, 'distinguisherMethod') && method !== 'ByUser' && method !== 'ByNamespace')
    errors.push(unsupportedStruct('spec.distinguisherMethod.type', { Type: method }, ['ByNamespace', 'ByUser']))
  errors.push(
    ...(level === ''
      ? [fieldErrors.required('spec.priorityLevelConfiguration.name', 'must reference a priority level')]
      : invalidWith('spec.priorityLevelConfiguration.name', level, dns1123Subdomain(level))),
    ...objectsAt(spec, 'rules').flatMap((rule, index) => ruleErrors(fieldPath('spec.rules', index), rule)),
    ...conditionErrors(object),
  )
  return errors
}

function ruleErrors(path: string, rule: JsonObject): FieldError[] {
  const subjects = objectsAt(rule, 'subjects')
  const resources = objectsAt(rule, 'resourceRules')
  const others = objectsAt(rule, 'nonResourceRules')
  return [
    ...(subjects.length === 0
      ? [fieldErrors.required(`${path}.subjects`, 'subjects must contain at least one value')]
      : subjects.flatMap((subject, index) => subjectErrors(fieldPath(path, 'subjects', index), subject))),
    ...(resources.length === 0 && others.length === 0
      ? [fieldErrors.required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty')]
      : []),
    ...resources.flatMap((resource, index) => resourceRuleErrors(fieldPath(path, 'resourceRules', index), resource)),
    ...others.flatMap((other, index) => nonResourceRuleErrors(fieldPath(path, 'nonResourceRules', index), other)),
  ]
}

/** The field of each kind of subject, in the order in which surplus ones are reported. */
const subjectFields: Readonly<Record<string, string>> = {
  ServiceAccount: 'serviceAccount',
  User: 'user',
  Group: 'group',
}

function subjectErrors(path: string, subject: JsonObject): FieldError[] {
  const kind = stringAt(subject, 'kind')
  const own = subjectFields[kind]
  if (own === undefined) return oneOf(`${path}.kind`, kind, ['Group', 'ServiceAccount', 'User'])
  const errors = has(subject, own)
    ? subjectReferenceErrors(`${path}.${own}`, kind, objectAt(subject, own))
    : [fieldErrors.required(`${path}.${own}`, `${own} is required when subject kind is '${kind}'`)]
  for (const [other, field] of Object.entries(subjectFields)) {
    if (other === kind || !has(subject, field)) continue
    errors.push(fieldErrors.forbidden(`${path}.${field}`, `${field} is forbidden when subject kind is not '${other}'`))
  }
  return errors
}

function subjectReferenceErrors(path: string, kind: string, reference: JsonObject): FieldError[] {
  const name = stringAt(reference, 'name')
  const errors = name === '' ? [fieldErrors.required(`${path}.name`)] : []
  if (kind !== 'ServiceAccount') return errors
  const namespace = stringAt(reference, 'namespace')
  if (name !== '' && name !== '*') errors.push(...invalidWith(`${path}.name`, name, dns1123Subdomain(name)))
  return namespace === ''
    ? [...errors, fieldErrors.required(`${path}.namespace`, 'must specify namespace for service account')]
    : [...errors, ...invalidWith(`${path}.namespace`, namespace, dns1123Label(namespace))]
}

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

function verbErrors(path: string, rule: JsonObject): FieldError[] {
  const given = stringsAt(rule, 'verbs')
  if (given.length === 0) return [fieldErrors.required(`${path}.verbs`, 'verbs must contain at least one value')]
  if (given.includes('*')) return loneWildcard(`${path}.verbs`, given, 'verbs')
  return given.every((verb) => verbs.includes(verb)) ? [] : [fieldErrors.notSupported(`${path}.verbs`, given, verbs)]
}

/** Checks that a list with a wildcard has nothing beside it. */
function loneWildcard(field: string, values: readonly string[], things: string): FieldError[] {
  return values.includes('*') && values.length > 1
    ? [fieldErrors.invalid(field, values, `if '*' is present, must not specify other ${things}`)]
    : []
}

function resourceRuleErrors(path: string, rule: JsonObject): FieldError[] {
  const groups = stringsAt(rule, 'apiGroups')
  const resources = stringsAt(rule, 'resources')
  const namespaces = stringsAt(rule, 'namespaces')
  const errors = verbErrors(path, rule)
  errors.push(
    ...(groups.length === 0
      ? [fieldErrors.required(`${path}.apiGroups`, 'resource rules must supply at least one api group')]
      : loneWildcard(`${path}.apiGroups`, groups, 'api groups')),
    ...(resources.length === 0
      ? [fieldErrors.required(`${path}.resources`, 'resource rules must supply at least one resource')]
      : loneWildcard(`${path}.resources`, resources, 'resources')),
  )
  const place = `${path}.namespaces`
  if (namespaces.length === 0 && !flagAt(rule, 'clusterScope')) {
    const why = 'resource rules that are not cluster scoped must supply at least one namespace'
    return [...errors, fieldErrors.required(place, why)]
  }
  if (namespaces.includes('*')) return [...errors, ...loneWildcard(place, namespaces, 'namespaces')]
  const wrong = namespaces.flatMap((namespace, index) =>
    dns1123Label(namespace).map((message) =>
      fieldErrors.invalid(
        fieldPath(place, index),
        namespace,
        `each member of this list must be '*' or a DNS-1123 label; ${message}`,
      ),
    ),
  )
  return [...errors, ...wrong]
}

function nonResourceRuleErrors(path: string, rule: JsonObject): FieldError[] {
  const urls = stringsAt(rule, 'nonResourceURLs')
  const place = `${path}.nonResourceURLs`
  const errors = verbErrors(path, rule)
  if (urls.length === 0)
    return [...errors, fieldErrors.required(place, 'nonResourceURLs must contain at least one value')]
  if (urls.includes('*')) return [...errors, ...loneWildcard(place, urls, 'non-resource URLs')]
  const wrong = urls.flatMap((url, index) => {
    const problem = urlProblem(url)
    return problem === undefined ? [] : [fieldErrors.invalid(fieldPath(place, index), url, problem)]
  })
  return [...errors, ...wrong]
}

/** Returns what is wrong with a path of a non-resource rule; undefined when it is right. */
function urlProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty'
  if (url === '/') return undefined
  if (!url.startsWith('/')) return 'must start with slash'
  if (url.includes(' ')) return 'must not contain white-space'
  if (url.includes('//')) return 'must not contain double slash'
  const wildcards = url.split('*').length - 1
  return wildcards > 1 || (wildcards === 1 && !url.endsWith('/*')) ? 'wildcard can only do suffix matching' : undefined
}

function priorityLevelErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const type = stringAt(spec, 'type')
  const errors: FieldError[] = []
  if ((object.metadata.name === 'exempt') !== (type === 'Exempt'))
    errors.push(fieldErrors.invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  if (type === 'Exempt') {
    if (has(spec, 'limited'))
      errors.push(fieldErrors.forbidden('spec.limited', 'must be nil if the type is not Limited'))
    errors.push(
      ...shareErrors('spec.exempt', objectAt(spec, 'exempt')),
      ...lendingErrors('spec.exempt', spec['exempt']),
    )
  } else if (type === 'Limited') {
    if (has(spec, 'exempt')) errors.push(fieldErrors.forbidden('spec.exempt', 'must be nil if the type is Limited'))
    errors.push(
      ...(has(spec, 'limited')
        ? limitedErrors('spec.limited', objectAt(spec, 'limited'))
        : [fieldErrors.required('spec.limited', 'must not be empty when type is Limited')]),
    )
  } else {
    errors.push(...oneOf('spec.type', type, ['Exempt', 'Limited']))
  }
  return [...errors, ...conditionErrors(object)]
}

function limitedErrors(path: string, limited: JsonObject): FieldError[] {
  const borrowing = numberAt(limited, 'borrowingLimitPercent') ?? 0
  const errors = [
    ...shareErrors(path, limited),
    ...responseErrors(`${path}.limitResponse`, objectAt(limited, 'limitResponse')),
    ...lendingErrors(path, limited),
  ]
  if (borrowing < 0) {
    const why = 'if specified, must be a non-negative integer'
    errors.push(fieldErrors.invalid(`${path}.borrowingLimitPercent`, borrowing, why))
  }
  return errors
}

function shareErrors(path: string, level: JsonObject): FieldError[] {
  const shares = numberAt(level, 'nominalConcurrencyShares') ?? 0
  return shares < 0
    ? [fieldErrors.invalid(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer')]
    : []
}

function lendingErrors(path: string, level: unknown): FieldError[] {
  const percent = numberAt(level, 'lendablePercent') ?? 0
  return percent < 0 || percent > 100
    ? [fieldErrors.invalid(`${path}.lendablePercent`, percent, 'must be between 0 and 100, inclusive')]
    : []
}

function responseErrors(path: string, response: JsonObject): FieldError[] {
  const type = stringAt(response, 'type')
  const place = `${path}.queuing`
  if (type === 'Reject')
    return has(response, 'queuing')
      ? [fieldErrors.forbidden(place, 'must be nil if limited.limitResponse.type is not Limited')]
      : []
  if (type !== 'Queue') return oneOf(`${path}.type`, type, ['Queue', 'Reject'])
  return has(response, 'queuing')
    ? queuingErrors(place, objectAt(response, 'queuing'))
    : [fieldErrors.required(place, 'must not be empty if limited.limitResponse.type is Limited')]
}

const mostQueues = 10_000_000
const hashBits = 60

function queuingErrors(path: string, queuing: JsonObject): FieldError[] {
  const [queues, hand, length] = ['queues', 'handSize', 'queueLengthLimit'].map(
    (field) => numberAt(queuing, field) ?? 0,
  )
  const errors: FieldError[] = []
  const invalid = (field: string, value = 0, detail = 'must be positive'): void => {
    errors.push(fieldErrors.invalid(`${path}.${field}`, value, detail))
  }
  if (length! <= 0) invalid('queueLengthLimit', length)
  if (queues! <= 0) invalid('queues', queues)
  else if (queues! > mostQueues) invalid('queues', queues, `must not be greater than ${mostQueues}`)
  if (hand! <= 0) invalid('handSize', hand)
  else if (hand! > queues!) invalid('handSize', hand, `should not be greater than queues (${queues})`)
  else if (entropyBits(queues!, hand!) > hashBits) {
    const needed = `required entropy bits of deckSize ${queues} and handSize ${hand}`
    invalid('handSize', hand, `${needed} should not be greater than ${hashBits}`)
  }
  return errors
}

/** Estimates the bits of a hash that deal a hand of queues. */
function entropyBits(queues: number, hand: number): number {
  return Math.ceil(Math.log2(queues) * hand)
}

function conditionErrors(object: KubeObject): FieldError[] {
  const seen = new Set<string>()
  return objectsAt(object, 'status', 'conditions').flatMap((condition, index) => {
    const type = stringAt(condition, 'type')
    const field = fieldPath('status.conditions', index, 'type')
    const errors = seen.has(type) ? [fieldErrors.duplicate(field, type)] : []
    seen.add(type)
    return type === '' ? [...errors, fieldErrors.required(field)] : errors
  })
}
