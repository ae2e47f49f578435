// Validation of the expressions of policies and webhooks: each must compile in the environment in which it runs.
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import { types } from '@fairlead/kube/cel'
import type { CelType } from '@fairlead/kube/cel'
import { invalidWith, oneOf } from '../checks.ts'
import { has, objectsAt, stringAt } from '../fields.ts'
import { authorizerDeclaration, compileVariables, policyDeclarations, requestDeclarations } from './environment.ts'
import type { CompiledVariable, Declarations, PolicyParams } from './environment.ts'
import { Expression } from './expression.ts'

const maxConditions = 64
const maxAnnotations = 20
const maxAnnotationBytes = 5 * 1024
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']
const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/
const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** Validates `matchConditions` of a webhook. */
export function conditionErrors(path: string, webhook: JsonObject): FieldError[] {
  return conditionsErrors(path, objectsAt(webhook, 'matchConditions'), {
    ...requestDeclarations,
    ...authorizerDeclaration,
  })
}

const atLeastOne = 'validations or auditAnnotations must contain at least one item'

/**
 * Validates all expressions of a policy, in the order of its fields. Unchanged conditions of an update are not
 * validated again.
 */
export function policyExpressionErrors(policy: KubeObject, spec: JsonObject, sameConditions: boolean): FieldError[] {
  const plain = policyDeclarations(policy as PolicyParams)
  const ruleDeclarations = { ...plain, ...authorizerDeclaration }
  const [validations, annotations] = [objectsAt(spec, 'validations'), objectsAt(spec, 'auditAnnotations')]
  const { variables, declarations } = compileVariables(objectsAt(spec, 'variables'), ruleDeclarations)
  const { authorizer: _authorizer, ...messageDeclarations } = declarations
  const errors = sameConditions
    ? []
    : conditionsErrors('spec.matchConditions', objectsAt(spec, 'matchConditions'), ruleDeclarations)
  errors.push(...variables.flatMap(variableErrors))
  if (validations.length === 0 && annotations.length === 0) {
    const fields = ['spec.validations', 'spec.auditAnnotations']
    return [...errors, ...fields.map((field) => fieldErrors.required(field, atLeastOne))]
  }
  return [
    ...errors,
    ...validations.flatMap((validation, index) =>
      validationErrors(fieldPath('spec.validations', index), validation, declarations, messageDeclarations),
    ),
    ...annotationsErrors(policy.metadata.name ?? '', annotations, declarations),
  ]
}

function conditionsErrors(path: string, conditions: readonly JsonObject[], declarations: Declarations): FieldError[] {
  const errors: FieldError[] = []
  if (conditions.length > maxConditions) errors.push(fieldErrors.tooMany(path, conditions.length, maxConditions))
  const names = new Set<string>()
  for (const [index, condition] of conditions.entries()) {
    const place = fieldPath(path, index)
    const expression = stringAt(condition, 'expression').trim()
    const name = stringAt(condition, 'name')
    if (expression === '') errors.push(fieldErrors.required(`${place}.expression`))
    else errors.push(...expressionErrors(`${place}.expression`, expression, declarations, [types.bool]))
    if (name === '') errors.push(fieldErrors.required(`${place}.name`))
    else errors.push(...invalidWith(`${place}.name`, name, qualifiedName(name)))
    if (names.has(name)) errors.push(fieldErrors.duplicate(`${place}.name`, name))
    if (name !== '') names.add(name)
  }
  return errors
}

function variableErrors({ name, expression: { text, problem } }: CompiledVariable, index: number): FieldError[] {
  const place = fieldPath('spec.variables', index)
  const errors: FieldError[] = []
  if (name.trim() === '') errors.push(fieldErrors.required(`${place}.name`, 'name is not specified'))
  else if (!identifier.test(name) || reserved.has(name))
    errors.push(fieldErrors.invalid(`${place}.name`, name, 'must be a valid CEL identifier'))
  if (text.trim() === '') errors.push(fieldErrors.required(`${place}.expression`, 'expression is not specified'))
  else if (problem !== undefined) errors.push(fieldErrors.invalid(`${place}.expression`, text, problem))
  return errors
}

function validationErrors(
  path: string,
  validation: JsonObject,
  ruleDeclarations: Declarations,
  messageDeclarations: Declarations,
): FieldError[] {
  const errors: FieldError[] = []
  const expression = stringAt(validation, 'expression')
  const message = stringAt(validation, 'message')
  const messageExpression = stringAt(validation, 'messageExpression')
  if (expression.trim() === '') errors.push(fieldErrors.required(`${path}.expression`, 'expression is not specified'))
  else errors.push(...expressionErrors(`${path}.expression`, expression, ruleDeclarations, [types.bool]))
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(fieldErrors.invalid(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified'))
  } else if (messageExpression !== '') {
    errors.push(
      ...expressionErrors(`${path}.messageExpression`, messageExpression, messageDeclarations, [types.string]),
    )
  }
  if (message !== '' && message.trim() === '')
    errors.push(fieldErrors.invalid(`${path}.message`, message, 'must be non-empty if specified'))
  else if (/[\r\n]/.test(message.trim()))
    errors.push(fieldErrors.invalid(`${path}.message`, message, 'must not contain line breaks'))
  if (has(validation, 'reason')) errors.push(...oneOf(`${path}.reason`, stringAt(validation, 'reason'), reasons))
  return errors
}

function annotationsErrors(
  policy: string,
  annotations: readonly JsonObject[],
  declarations: Declarations,
): FieldError[] {
  const errors: FieldError[] = []
  const path = 'spec.auditAnnotations'
  if (annotations.length > maxAnnotations) {
    const detail = `must not have more than ${maxAnnotations} auditAnnotations`
    errors.push(fieldErrors.invalid(path, [...annotations], detail))
  }
  const keys = new Set<string>()
  for (const [index, annotation] of annotations.entries()) {
    const place = fieldPath(path, index)
    const key = stringAt(annotation, 'key')
    const text = stringAt(annotation, 'valueExpression')
    errors.push(...invalidWith(`${place}.key`, `${policy}/${key}`, qualifiedName(`${policy}/${key}`)))
    if (text.trim() === '')
      errors.push(fieldErrors.required(`${place}.valueExpression`, 'valueExpression is not specified'))
    else if (Buffer.byteLength(text) > maxAnnotationBytes)
      errors.push(
        fieldErrors.required(`${place}.valueExpression`, `must not exceed ${maxAnnotationBytes} bytes in length`),
      )
    else errors.push(...expressionErrors(`${place}.valueExpression`, text, declarations, [types.string, types.null]))
    if (keys.has(key)) errors.push(fieldErrors.duplicate(`${place}.key`, key))
    keys.add(key)
  }
  return errors
}

function expressionErrors(
  field: string,
  text: string,
  declarations: Declarations,
  results?: readonly CelType[],
): FieldError[] {
  const { problem } = new Expression(text, declarations, results)
  return problem === undefined ? [] : [fieldErrors.invalid(field, text, problem)]
}
