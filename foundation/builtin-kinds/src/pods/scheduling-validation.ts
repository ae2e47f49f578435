// Validation of the scheduling fields of a pod: tolerations, affinity, spreading, gates (pkg/apis/core/validation,
// v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { dns1123Label, dns1123Subdomain, fieldErrors, fieldPath, labelValue, qualifiedName } from '@fairlead/kube'
import { invalidWith, labelSelectorErrors, oneOf } from '../checks.ts'
import { has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

/** Validates `tolerations`. */
export function tolerationErrors(field: string, tolerations: readonly JsonObject[]): FieldError[] {
  return tolerations.flatMap((toleration, index) => {
    const path = fieldPath(field, index)
    const key = stringAt(toleration, 'key')
    const effect = stringAt(toleration, 'effect')
    const operator = stringAt(toleration, 'operator')
    const errors: FieldError[] = key === '' ? [] : invalidWith(`${path}.key`, key, qualifiedName(key))
    if (key === '' && operator !== 'Exists')
      errors.push(
        fieldErrors.invalid(
          `${path}.operator`,
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      )
    if (has(toleration, 'tolerationSeconds') && effect !== 'NoExecute')
      errors.push(
        fieldErrors.invalid(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"),
      )
    errors.push(...operatorErrors(`${path}.operator`, operator, stringAt(toleration, 'value')))
    errors.push(...oneOf(`${path}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute'], 'fine'))
    return errors
  })
}

function operatorErrors(field: string, operator: string, value: string): FieldError[] {
  switch (operator) {
    case '':
    case 'Equal': {
      const messages = labelValue(value)
      return messages.length > 0 ? [fieldErrors.invalid(field, value, messages.join(';'))] : []
    }
    case 'Exists':
      return value === '' ? [] : [fieldErrors.invalid(field, value, "value must be empty when `operator` is 'Exists'")]
    case 'Lt':
    case 'Gt':
      return [fieldErrors.notSupported(field, operator, ['Equal', 'Exists', 'Lt', 'Gt'])]
    default:
      return [fieldErrors.notSupported(field, operator, ['Equal', 'Exists'])]
  }
}

const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'

/** Validates `affinity`. */
export function affinityErrors(path: string, affinity: JsonObject): FieldError[] {
  const nodes = objectAt(affinity, 'nodeAffinity')
  const errors = has(nodes, required)
    ? nodeSelectorErrors(`${path}.nodeAffinity.${required}`, objectAt(nodes, required))
    : []
  for (const [index, term] of objectsAt(nodes, preferred).entries()) {
    const place = fieldPath(`${path}.nodeAffinity`, preferred, index)
    errors.push(...weightErrors(place, term))
    errors.push(...nodeTermErrors(`${place}.preference`, objectAt(term, 'preference'), true))
  }
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const terms = objectAt(affinity, kind)
    for (const [index, term] of objectsAt(terms, required).entries())
      errors.push(...podTermErrors(fieldPath(`${path}.${kind}`, required, index), term))
    for (const [index, term] of objectsAt(terms, preferred).entries()) {
      const place = fieldPath(`${path}.${kind}`, preferred, index)
      errors.push(...weightErrors(place, term))
      errors.push(...podTermErrors(`${place}.podAffinityTerm`, objectAt(term, 'podAffinityTerm')))
    }
  }
  return errors
}

function weightErrors(path: string, term: JsonObject): FieldError[] {
  const weight = numberAt(term, 'weight') ?? 0
  return weight <= 0 || weight > 100
    ? [fieldErrors.invalid(`${path}.weight`, weight, 'must be in the range 1-100')]
    : []
}

/** Validates a NodeSelector: at least one term. */
export function nodeSelectorErrors(path: string, selector: JsonObject): FieldError[] {
  const terms = objectsAt(selector, 'nodeSelectorTerms')
  if (terms.length === 0)
    return [fieldErrors.required(`${path}.nodeSelectorTerms`, 'must have at least one node selector term')]
  return terms.flatMap((term, index) => nodeTermErrors(fieldPath(path, 'nodeSelectorTerms', index), term, false))
}

function nodeTermErrors(path: string, term: JsonObject, allowsAnyValue: boolean): FieldError[] {
  return [
    ...objectsAt(term, 'matchExpressions').flatMap((requirement, index) =>
      requirementErrors(fieldPath(path, 'matchExpressions', index), requirement, allowsAnyValue),
    ),
    ...objectsAt(term, 'matchFields').flatMap((requirement, index) =>
      fieldRequirementErrors(fieldPath(path, 'matchFields', index), requirement),
    ),
  ]
}

function requirementErrors(path: string, requirement: JsonObject, allowsAnyValue: boolean): FieldError[] {
  const key = stringAt(requirement, 'key')
  const operator = stringAt(requirement, 'operator')
  const values = stringsAt(requirement, 'values')
  const errors: FieldError[] = []
  const place = `${path}.values`
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      errors.push(fieldErrors.required(place, "must be specified when `operator` is 'In' or 'NotIn'"))
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.push(fieldErrors.forbidden(place, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1)
      errors.push(fieldErrors.required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
  } else errors.push(fieldErrors.invalid(`${path}.operator`, operator, 'not a valid selector operator'))
  errors.push(...invalidWith(`${path}.key`, key, qualifiedName(key)))
  if (allowsAnyValue) return errors
  return [...errors, ...values.flatMap((value, at) => invalidWith(fieldPath(place, at), value, labelValue(value)))]
}

function fieldRequirementErrors(path: string, requirement: JsonObject): FieldError[] {
  const key = stringAt(requirement, 'key')
  const operator = stringAt(requirement, 'operator')
  const values = stringsAt(requirement, 'values')
  const errors: FieldError[] = []
  if (operator !== 'In' && operator !== 'NotIn')
    errors.push(fieldErrors.invalid(`${path}.operator`, operator, 'not a valid selector operator'))
  else if (values.length !== 1) {
    errors.push(
      fieldErrors.required(
        `${path}.values`,
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ),
    )
  }
  if (key !== 'metadata.name')
    return [...errors, fieldErrors.invalid(`${path}.key`, key, 'not a valid field selector key')]
  return [
    ...errors,
    ...values.flatMap((value, at) => invalidWith(fieldPath(path, 'values', at), value, dns1123Subdomain(value))),
  ]
}

function podTermErrors(path: string, term: JsonObject): FieldError[] {
  const key = stringAt(term, 'topologyKey')
  const errors: FieldError[] = []
  for (const selector of ['labelSelector', 'namespaceSelector'])
    if (has(term, selector)) errors.push(...labelSelectorErrors(`${path}.${selector}`, objectAt(term, selector)))
  for (const namespace of stringsAt(term, 'namespaces'))
    errors.push(...invalidWith(`${path}.namespace`, namespace, dns1123Label(namespace)))
  errors.push(...labelKeyErrors(path, term, ['matchLabelKeys', 'mismatchLabelKeys']))
  if (key === '') errors.push(fieldErrors.required(`${path}.topologyKey`, 'can not be empty'))
  return [...errors, ...invalidWith(`${path}.topologyKey`, key, qualifiedName(key))]
}

/** Validates the label keys whose values the server merges into the selector. */
function labelKeyErrors(path: string, term: JsonObject, fields: readonly string[]): FieldError[] {
  const hasSelector = has(term, 'labelSelector')
  const errors = fields.flatMap((field) => {
    const keys = stringsAt(term, field)
    if (keys.length === 0) return []
    if (!hasSelector)
      return [fieldErrors.forbidden(`${path}.${field}`, 'must not be specified when labelSelector is not set')]
    return keys.flatMap((key, index) => invalidWith(fieldPath(path, field, index), key, qualifiedName(key)))
  })
  const matched = stringsAt(term, 'matchLabelKeys')
  const lastIndexes = new Map(matched.map((key, index) => [key, index]))
  const seen = new Set(Object.keys(mapAt(term, 'labelSelector', 'matchLabels')))
  for (const expression of objectsAt(term, 'labelSelector', 'matchExpressions')) {
    const key = stringAt(expression, 'key')
    const index = lastIndexes.get(key)
    if (index !== undefined && seen.has(key))
      errors.push(fieldErrors.invalid(fieldPath(path, index), key, 'exists in both matchLabelKeys and labelSelector'))
    seen.add(key)
  }
  const mismatched = new Set(stringsAt(term, 'mismatchLabelKeys'))
  for (const [index, key] of matched.entries()) {
    if (mismatched.has(key))
      errors.push(
        fieldErrors.invalid(
          fieldPath(path, 'matchLabelKeys', index),
          key,
          'exists in both matchLabelKeys and mismatchLabelKeys',
        ),
      )
  }
  return errors
}

/** Validates `topologySpreadConstraints`. */
export function spreadErrors(field: string, constraints: readonly JsonObject[]): FieldError[] {
  const identityOf = (constraint: JsonObject): string =>
    JSON.stringify([stringAt(constraint, 'topologyKey'), stringAt(constraint, 'whenUnsatisfiable')])
  const lastIndexes = new Map(constraints.map((constraint, index) => [identityOf(constraint), index]))
  return constraints.flatMap((constraint, index) => {
    const path = fieldPath(field, index)
    const key = stringAt(constraint, 'topologyKey')
    const action = stringAt(constraint, 'whenUnsatisfiable')
    const errors = [...positiveNumber(`${path}.maxSkew`, numberAt(constraint, 'maxSkew') ?? 0)]
    if (key === '') errors.push(fieldErrors.required(`${path}.topologyKey`, 'can not be empty'))
    errors.push(...oneOf(`${path}.whenUnsatisfiable`, action, ['DoNotSchedule', 'ScheduleAnyway']))
    const isRepeated = lastIndexes.get(identityOf(constraint)) !== index
    if (isRepeated)
      errors.push(fieldErrors.duplicate(`${path}.{topologyKey, whenUnsatisfiable}`, `{${key}, ${action}}`))
    const minimum = numberAt(constraint, 'minDomains')
    if (minimum !== undefined) {
      errors.push(...positiveNumber(`${path}.minDomains`, minimum))
      if (action !== 'DoNotSchedule') {
        errors.push(
          fieldErrors.invalid(
            `${path}.minDomains`,
            minimum,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`,
          ),
        )
      }
    }
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy'])
      if (has(constraint, policy))
        errors.push(...oneOf(`${path}.${policy}`, stringAt(constraint, policy), ['Honor', 'Ignore']))
    errors.push(...labelKeyErrors(path, constraint, ['matchLabelKeys']))
    if (has(constraint, 'labelSelector'))
      errors.push(...labelSelectorErrors(`${path}.labelSelector`, objectAt(constraint, 'labelSelector')))
    return errors
  })
}

function positiveNumber(field: string, value: number): FieldError[] {
  return value > 0 ? [] : [fieldErrors.invalid(field, value, 'must be greater than zero')]
}

/** Validates `schedulingGates`. */
export function gateErrors(field: string, gates: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>()
  return gates.flatMap((gate, index) => {
    const name = stringAt(gate, 'name')
    const path = fieldPath(field, index)
    const errors = invalidWith(path, name, qualifiedName(name))
    if (seen.has(name)) errors.push(fieldErrors.duplicate(path, name))
    seen.add(name)
    return errors
  })
}
