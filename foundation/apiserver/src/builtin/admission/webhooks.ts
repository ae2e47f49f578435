// Webhook configurations and ValidatingAdmissionPolicies; their expressions have a file of their own.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath } from '@fairlead/kube'
import type { Strategy } from '../../registry/strategy.ts'
import { invalidWith, labelSelectorErrors, oneOf } from '../checks.ts'
import {
  draftAt,
  draftsAt,
  ensureAt,
  fill,
  fillText,
  has,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
} from '../fields.ts'
import { conditionErrors, policyExpressionErrors } from './expressions.ts'

/** Behaviour of MutatingWebhookConfigurations. */
export const mutatingWebhooksStrategy: Strategy = webhooksStrategy(true)

/** Behaviour of ValidatingWebhookConfigurations. */
export const validatingWebhooksStrategy: Strategy = webhooksStrategy(false)

/** Behaviour of ValidatingAdmissionPolicies. */
export const admissionPolicyStrategy: Strategy = {
  hasStatus: true,
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fillText(spec, { failurePolicy: 'Fail' })
    const constraints = draftAt(spec, 'matchConstraints')
    if (constraints !== undefined) defaultMatchResources(constraints)
  },
  validate: policyErrors,
  validateUpdate: policyErrors,
}

/** Behaviour of ValidatingAdmissionPolicyBindings. */
export const admissionBindingStrategy: Strategy = {
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    const resources = draftAt(spec, 'matchResources')
    if (resources !== undefined) defaultMatchResources(resources)
  },
  validate: bindingErrors,
  validateUpdate: bindingErrors,
}

function webhooksStrategy(mutates: boolean): Strategy {
  return {
    tracksGeneration: true,
    allowUnconditionalUpdate: false,
    applyDefaults(object) {
      for (const webhook of draftsAt(object, 'webhooks')) defaultWebhook(webhook, mutates)
    },
    validate: webhooksErrors,
    validateUpdate: webhooksErrors,
  }
}

function defaultWebhook(webhook: MutableJsonObject, mutates: boolean): void {
  fillText(webhook, {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    ...(mutates ? { reinvocationPolicy: 'Never' } : {}),
  })
  fill(webhook, { namespaceSelector: {}, objectSelector: {}, timeoutSeconds: 10 })
  fill(draftAt(webhook, 'clientConfig', 'service'), { port: 443 })
  for (const rule of draftsAt(webhook, 'rules')) fillText(rule, { scope: '*' })
}

function defaultMatchResources(resources: MutableJsonObject): void {
  fillText(resources, { matchPolicy: 'Equivalent' })
  fill(resources, { namespaceSelector: {}, objectSelector: {} })
  for (const list of ['resourceRules', 'excludeResourceRules'])
    for (const rule of draftsAt(resources, list)) fillText(rule, { scope: '*' })
}

function webhooksErrors(object: KubeObject): FieldError[] {
  const names = new Set<string>()
  return objectsAt(object, 'webhooks').flatMap((webhook, index) => {
    const path = fieldPath('webhooks', index)
    const name = stringAt(webhook, 'name')
    const errors = webhookErrors(path, webhook)
    if (names.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
    names.add(name)
    return errors
  })
}

function webhookErrors(path: string, webhook: JsonObject): FieldError[] {
  const errors = qualifiedDomain(`${path}.name`, stringAt(webhook, 'name'))
  errors.push(
    ...objectsAt(webhook, 'rules').flatMap((rule, index) => ruleErrors(fieldPath(path, 'rules', index), rule)),
  )
  errors.push(...oneOf(`${path}.failurePolicy`, stringAt(webhook, 'failurePolicy'), ['Fail', 'Ignore']))
  errors.push(...oneOf(`${path}.matchPolicy`, stringAt(webhook, 'matchPolicy'), ['Equivalent', 'Exact']))
  const sideEffects = stringAt(webhook, 'sideEffects')
  if (!has(webhook, 'sideEffects'))
    errors.push(fieldErrors.required(`${path}.sideEffects`, 'must specify one of None, NoneOnDryRun'))
  else errors.push(...oneOf(`${path}.sideEffects`, sideEffects, ['None', 'NoneOnDryRun']))
  const timeout = numberAt(webhook, 'timeoutSeconds')
  if (timeout !== undefined && (timeout > 30 || timeout < 1)) {
    errors.push(
      fieldErrors.invalid(`${path}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'),
    )
  }
  for (const selector of ['namespaceSelector', 'objectSelector'])
    errors.push(...labelSelectorErrors(`${path}.${selector}`, objectAt(webhook, selector)))
  errors.push(...clientErrors(`${path}.clientConfig`, objectAt(webhook, 'clientConfig')))
  return [
    ...errors,
    ...reviewVersionErrors(`${path}.admissionReviewVersions`, stringsAt(webhook, 'admissionReviewVersions')),
    ...conditionErrors(`${path}.matchConditions`, webhook),
  ]
}

function qualifiedDomain(field: string, name: string): FieldError[] {
  if (name === '') return [fieldErrors.required(field)]
  const messages = dns1123Subdomain(name)
  if (messages.length > 0) return invalidWith(field, name, messages)
  return name.split('.').length < 3
    ? [fieldErrors.invalid(field, name, 'should be a domain with at least three segments separated by dots')]
    : []
}

const reviewVersions = ['v1', 'v1beta1']

function reviewVersionErrors(field: string, versions: readonly string[]): FieldError[] {
  if (versions.length === 0) return [fieldErrors.required(field, `must specify one of ${reviewVersions.join(', ')}`)]
  return versions.some((version) => reviewVersions.includes(version))
    ? []
    : [fieldErrors.invalid(field, versions, `must include at least one of ${reviewVersions.join(', ')}`)]
}

function clientErrors(path: string, client: JsonObject): FieldError[] {
  if (has(client, 'url') === has(client, 'service'))
    return [fieldErrors.required(path, 'exactly one of url or service is required')]
  return has(client, 'url')
    ? urlErrors(`${path}.url`, stringAt(client, 'url'))
    : serviceErrors(`${path}.service`, objectAt(client, 'service'))
}

const desiredForm = 'desired format: https://host[/path]'

function urlErrors(field: string, text: string): FieldError[] {
  if (!URL.canParse(text)) return [fieldErrors.invalid(field, text, `url must be a valid URL: ${desiredForm}`)]
  const url = new URL(text)
  const scheme = url.protocol.slice(0, -1)
  const errors: FieldError[] = []
  if (scheme !== 'https')
    errors.push(fieldErrors.invalid(field, scheme, `'https' is the only allowed URL scheme; ${desiredForm}`))
  if (url.host === '') errors.push(fieldErrors.invalid(field, url.host, `host must be specified; ${desiredForm}`))
  if (url.username !== '')
    errors.push(fieldErrors.invalid(field, url.username, 'user information is not permitted in the URL'))
  if (url.hash !== '')
    errors.push(fieldErrors.invalid(field, url.hash.slice(1), 'fragments are not permitted in the URL'))
  if (url.search !== '')
    errors.push(fieldErrors.invalid(field, url.search.slice(1), 'query parameters are not permitted in the URL'))
  return errors
}

function serviceErrors(path: string, service: JsonObject): FieldError[] {
  const errors = ['name', 'namespace']
    .filter((field) => stringAt(service, field) === '')
    .map((field) => fieldErrors.required(`${path}.${field}`, `service ${field} is required`))
  const port = numberAt(service, 'port')
  if (port !== undefined && (port < 1 || port > 65535))
    errors.push(fieldErrors.invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'))
  const urlPath = stringAt(service, 'path')
  if (urlPath !== '' && !urlPath.startsWith('/'))
    errors.push(fieldErrors.invalid(`${path}.path`, urlPath, "must start with a '/'"))
  return errors
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

function ruleErrors(path: string, rule: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  for (const field of ['operations', 'apiGroups', 'apiVersions', 'resources']) {
    const values = stringsAt(rule, field)
    if (values.length === 0) errors.push(fieldErrors.required(`${path}.${field}`))
    else if (values.length > 1 && values.includes('*') && field !== 'resources') {
      errors.push(
        fieldErrors.invalid(
          `${path}.${field}`,
          values,
          "if '*' is present, must not specify other " +
            (field === 'operations' ? 'operations' : field === 'apiGroups' ? 'API groups' : 'API versions'),
        ),
      )
    }
  }
  for (const [index, operation] of stringsAt(rule, 'operations').entries()) {
    if (!operations.includes(operation))
      errors.push(fieldErrors.notSupported(fieldPath(path, 'operations', index), operation, operations))
  }
  return has(rule, 'scope')
    ? [...errors, ...oneOf(`${path}.scope`, stringAt(rule, 'scope'), ['*', 'Cluster', 'Namespaced'])]
    : errors
}

function policyErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const validations = objectsAt(spec, 'validations')
  const errors: FieldError[] = []
  errors.push(...oneOf('spec.failurePolicy', stringAt(spec, 'failurePolicy'), ['Fail', 'Ignore']))
  if (has(spec, 'paramKind')) {
    for (const field of ['apiVersion', 'kind'])
      if (stringAt(spec, 'paramKind', field) === '') errors.push(fieldErrors.required(`spec.paramKind.${field}`))
  }
  if (!has(spec, 'matchConstraints')) errors.push(fieldErrors.required('spec.matchConstraints'))
  else errors.push(...matchErrors('spec.matchConstraints', objectAt(spec, 'matchConstraints'), true))
  if (validations.length === 0 && objectsAt(spec, 'auditAnnotations').length === 0) {
    errors.push(
      fieldErrors.required(
        'spec.validations',
        'validations or auditAnnotations must be non-empty; neither is provided',
      ),
    )
  }
  return [...errors, ...policyExpressionErrors(object, spec)]
}

function matchErrors(path: string, match: JsonObject, needsRules: boolean): FieldError[] {
  const rules = objectsAt(match, 'resourceRules')
  const errors: FieldError[] = needsRules && rules.length === 0 ? [fieldErrors.required(`${path}.resourceRules`)] : []
  for (const selector of ['namespaceSelector', 'objectSelector'])
    errors.push(...labelSelectorErrors(`${path}.${selector}`, objectAt(match, selector)))
  return [...errors, ...rules.flatMap((rule, index) => ruleErrors(fieldPath(path, 'resourceRules', index), rule))]
}

const actions = ['Audit', 'Deny', 'Warn']

function bindingErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const given = stringsAt(spec, 'validationActions')
  const errors: FieldError[] = []
  if (stringAt(spec, 'policyName') === '') errors.push(fieldErrors.required('spec.policyName'))
  if (has(spec, 'paramRef')) {
    const param = objectAt(spec, 'paramRef')
    if (stringAt(param, 'name') === '' && !has(param, 'selector'))
      errors.push(fieldErrors.required('spec.paramRef', 'one of name or selector must be specified'))
    if (!has(param, 'parameterNotFoundAction'))
      errors.push(fieldErrors.required('spec.paramRef.parameterNotFoundAction'))
  }
  if (has(spec, 'matchResources'))
    errors.push(...matchErrors('spec.matchResources', objectAt(spec, 'matchResources'), false))
  if (given.length === 0)
    return [...errors, fieldErrors.required('spec.validationActions', 'at least one validation action is required')]
  for (const [index, action] of given.entries()) {
    if (!actions.includes(action))
      errors.push(fieldErrors.notSupported(fieldPath('spec.validationActions', index), action, actions))
    if (given.indexOf(action) !== index)
      errors.push(fieldErrors.duplicate(fieldPath('spec.validationActions', index), action))
  }
  if (given.includes('Deny') && given.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
    errors.push(fieldErrors.invalid('spec.validationActions', given, detail))
  }
  return errors
}
