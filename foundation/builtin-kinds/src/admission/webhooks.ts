// Webhook configurations and ValidatingAdmissionPolicies; their expressions are in expressions.ts.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject, WebhookService } from '@fairlead/kube'
import {
  dns1035Label,
  dns1123Subdomain,
  fieldErrors,
  fieldPath,
  jsonEqual,
  pathSegmentName,
  webhookServiceErrors,
  webhookUrlErrors,
} from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { invalidWith, labelSelectorErrors, oneOf, repeatedIndices } from '../checks.ts'
import {
  draftAt,
  draftsAt,
  ensureAt,
  fill,
  has,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
} from '../fields.ts'
import { conditionErrors, policyExpressionErrors } from './expressions.ts'

/** The strategy of MutatingWebhookConfigurations. */
export const mutatingWebhooksStrategy: Strategy = webhooksStrategy(true)

/** The strategy of ValidatingWebhookConfigurations. */
export const validatingWebhooksStrategy: Strategy = webhooksStrategy(false)

/** The strategy of ValidatingAdmissionPolicies. */
export const admissionPolicyStrategy: Strategy = {
  hasStatus: true,
  statusKeeps: 'metadata',
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    const spec = ensureAt(object, 'spec')
    fill(spec, { failurePolicy: 'Fail' })
    const constraints = draftAt(spec, 'matchConstraints')
    if (constraints !== undefined) defaultMatchResources(constraints)
  },
  validate: (object) => policyErrors(object),
  validateUpdate: policyErrors,
}

/** The strategy of ValidatingAdmissionPolicyBindings. */
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
    validate: (object) => webhooksErrors(object, mutates, strict),
    validateUpdate: (object, old) => webhooksErrors(object, mutates, leniencyOf(object, old)),
  }
}

function defaultWebhook(webhook: MutableJsonObject, mutates: boolean): void {
  fill(webhook, {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    ...(mutates ? { reinvocationPolicy: 'Never' } : {}),
  })
  fill(webhook, { namespaceSelector: {}, objectSelector: {}, timeoutSeconds: 10 })
  fill(draftAt(webhook, 'clientConfig', 'service'), { port: 443 })
  for (const rule of draftsAt(webhook, 'rules')) fill(rule, { scope: '*' })
}

function defaultMatchResources(resources: MutableJsonObject): void {
  fill(resources, { matchPolicy: 'Equivalent' })
  fill(resources, { namespaceSelector: {}, objectSelector: {} })
  for (const list of ['resourceRules', 'excludeResourceRules'])
    for (const rule of draftsAt(resources, list)) fill(rule, { scope: '*' })
}

/** Invalid values that an update may keep because the configuration had them before. */
interface Leniency {
  readonly conditions: boolean
  readonly sideEffects: boolean
  readonly reviewVersions: boolean
  readonly names: boolean
  readonly labelValues: boolean
}

const strict: Leniency = {
  conditions: false,
  sideEffects: false,
  reviewVersions: false,
  names: false,
  labelValues: false,
}

function leniencyOf(object: KubeObject, old: KubeObject): Leniency {
  const [webhooks, before] = [objectsAt(object, 'webhooks'), objectsAt(old, 'webhooks')]
  const names = before.map((webhook) => stringAt(webhook, 'name'))
  const conditionsOf = (webhook: JsonObject): readonly JsonObject[] => objectsAt(webhook, 'matchConditions')
  return {
    conditions:
      webhooks.length === before.length &&
      webhooks.every((webhook, index) => jsonEqual([...conditionsOf(webhook)], [...conditionsOf(before[index]!)])),
    sideEffects: before.some((webhook) => !noSideEffects.includes(stringAt(webhook, 'sideEffects'))),
    reviewVersions: before.some((webhook) => {
      const versions = stringsAt(webhook, 'admissionReviewVersions')
      return versions.length > 0 && !versions.some((version) => reviewVersions.includes(version))
    }),
    names: new Set(names).size < names.length,
    labelValues: before.some((webhook) => selectorErrors('', webhook).length > 0),
  }
}

function webhooksErrors(object: KubeObject, mutates: boolean, leniency: Leniency): FieldError[] {
  const names = new Set<string>()
  return objectsAt(object, 'webhooks').flatMap((webhook, index) => {
    const path = fieldPath('webhooks', index)
    const name = stringAt(webhook, 'name')
    const errors = webhookErrors(path, webhook, mutates, leniency)
    if (names.has(name) && !leniency.names) errors.push(fieldErrors.duplicate(`${path}.name`, name))
    if (name !== '') names.add(name)
    return errors
  })
}

const noSideEffects = ['None', 'NoneOnDryRun']
const sideEffectClasses = ['None', 'NoneOnDryRun', 'Some', 'Unknown']

function webhookErrors(path: string, webhook: JsonObject, mutates: boolean, leniency: Leniency): FieldError[] {
  const errors = qualifiedDomain(`${path}.name`, stringAt(webhook, 'name'))
  errors.push(
    ...objectsAt(webhook, 'rules').flatMap((rule, index) => ruleErrors(fieldPath(path, 'rules', index), rule)),
  )
  errors.push(...oneOf(`${path}.failurePolicy`, stringAt(webhook, 'failurePolicy'), ['Fail', 'Ignore']))
  errors.push(...oneOf(`${path}.matchPolicy`, stringAt(webhook, 'matchPolicy'), ['Equivalent', 'Exact']))
  const classes = leniency.sideEffects ? sideEffectClasses : noSideEffects
  if (!has(webhook, 'sideEffects'))
    errors.push(fieldErrors.required(`${path}.sideEffects`, `must specify one of ${classes.join(', ')}`))
  else errors.push(...oneOf(`${path}.sideEffects`, stringAt(webhook, 'sideEffects'), classes))
  const timeout = numberAt(webhook, 'timeoutSeconds')
  if (timeout !== undefined && (timeout > 30 || timeout < 1)) {
    errors.push(
      fieldErrors.invalid(`${path}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'),
    )
  }
  errors.push(...selectorErrors(path, webhook, leniency.labelValues))
  if (mutates)
    errors.push(...oneOf(`${path}.reinvocationPolicy`, stringAt(webhook, 'reinvocationPolicy'), ['IfNeeded', 'Never']))
  errors.push(...clientErrors(`${path}.clientConfig`, objectAt(webhook, 'clientConfig')))
  if (!leniency.conditions) errors.push(...conditionErrors(`${path}.matchConditions`, webhook))
  const versions = stringsAt(webhook, 'admissionReviewVersions')
  return [...errors, ...reviewVersionErrors(`${path}.admissionReviewVersions`, versions, leniency.reviewVersions)]
}

function selectorErrors(path: string, owner: JsonObject, allowsLabelValues = false): FieldError[] {
  return ['namespaceSelector', 'objectSelector'].flatMap((selector) =>
    labelSelectorErrors(`${path}.${selector}`, objectAt(owner, selector), allowsLabelValues),
  )
}

function qualifiedDomain(field: string, name: string): FieldError[] {
  if (name === '') return [fieldErrors.required(field)]
  const messages = dns1123Subdomain(name)
  if (messages.length > 0) return [fieldErrors.invalid(field, name, messages.join(','))]
  return name.split('.').length < 3
    ? [fieldErrors.invalid(field, name, 'should be a domain with at least three segments separated by dots')]
    : []
}

const reviewVersions = ['v1', 'v1beta1']

function reviewVersionErrors(field: string, versions: readonly string[], allowsUnknown: boolean): FieldError[] {
  if (versions.length === 0) return [fieldErrors.required(field, `must specify one of ${reviewVersions.join(', ')}`)]
  const repeated = repeatedIndices(versions)
  const errors = versions.flatMap((version, index) =>
    repeated.has(index)
      ? [fieldErrors.invalid(fieldPath(field, index), version, 'duplicate version')]
      : invalidWith(fieldPath(field, index), version, dns1035Label(version)),
  )
  if (!allowsUnknown && !versions.some((version) => reviewVersions.includes(version)))
    errors.push(fieldErrors.invalid(field, versions, `must include at least one of ${reviewVersions.join(', ')}`))
  return errors
}

function clientErrors(path: string, client: JsonObject): FieldError[] {
  if (has(client, 'url') === has(client, 'service'))
    return [fieldErrors.required(path, 'exactly one of url or service is required')]
  return has(client, 'url')
    ? webhookUrlErrors(`${path}.url`, stringAt(client, 'url'))
    : webhookServiceErrors(`${path}.service`, objectAt(client, 'service') as WebhookService)
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

function ruleErrors(path: string, rule: JsonObject): FieldError[] {
  const errors = listErrors(path, rule, 'operations', 'operations')
  for (const [index, operation] of stringsAt(rule, 'operations').entries()) {
    if (!operations.includes(operation))
      errors.push(fieldErrors.notSupported(fieldPath(path, 'operations', index), operation, operations))
  }
  errors.push(...listErrors(path, rule, 'apiGroups', 'API groups'))
  errors.push(...listErrors(path, rule, 'apiVersions', 'API versions'))
  for (const [index, version] of stringsAt(rule, 'apiVersions').entries())
    if (version === '') errors.push(fieldErrors.required(fieldPath(path, 'apiVersions', index)))
  errors.push(...resourcesErrors(`${path}.resources`, stringsAt(rule, 'resources')))
  return has(rule, 'scope')
    ? [...errors, ...oneOf(`${path}.scope`, stringAt(rule, 'scope'), ['*', 'Cluster', 'Namespaced'])]
    : errors
}

/** Checks a list that must not be empty, and in which `*` must be the only item. */
function listErrors(path: string, rule: JsonObject, field: string, things: string): FieldError[] {
  const values = stringsAt(rule, field)
  if (values.length === 0) return [fieldErrors.required(`${path}.${field}`)]
  return values.length > 1 && values.includes('*')
    ? [fieldErrors.invalid(`${path}.${field}`, values, `if '*' is present, must not specify other ${things}`)]
    : []
}

function resourcesErrors(path: string, resources: readonly string[]): FieldError[] {
  if (resources.length === 0) return [fieldErrors.required(path)]
  const errors: FieldError[] = []
  const [wholeResources, wholeSubresources] = [new Set<string>(), new Set<string>()]
  let hasPlainResource = false
  for (const [index, text] of resources.entries()) {
    const field = fieldPath(path, index)
    if (text === '') {
      errors.push(fieldErrors.required(field))
      continue
    }
    const slash = text.indexOf('/')
    if (slash < 0) {
      // As in Kubernetes, the last one decides.
      hasPlainResource = text !== '*'
      continue
    }
    const [resource, subresource] = [text.slice(0, slash), text.slice(slash + 1)]
    const covers = [
      ...(wholeResources.has(resource) ? [`${resource}/*`] : []),
      ...(wholeSubresources.has(subresource) ? [`*/${subresource}`] : []),
    ]
    for (const cover of covers)
      errors.push(fieldErrors.invalid(field, text, `if '${cover}' is present, must not specify ${text}`))
    if (subresource === '*') wholeResources.add(resource)
    if (resource === '*') wholeSubresources.add(subresource)
  }
  if (resources.length > 1 && resources.includes('*/*'))
    errors.push(fieldErrors.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
  if (resources.includes('*') && hasPlainResource) {
    const detail = "if '*' is present, must not specify other resources without subresources"
    errors.push(fieldErrors.invalid(path, resources, detail))
  }
  return errors
}

function policyErrors(object: KubeObject, old?: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const before = old && objectAt(old, 'spec')
  const errors: FieldError[] = []
  errors.push(...oneOf('spec.failurePolicy', stringAt(spec, 'failurePolicy'), ['Fail', 'Ignore']))
  if (has(spec, 'paramKind')) errors.push(...paramKindErrors('spec.paramKind', objectAt(spec, 'paramKind')))
  if (!has(spec, 'matchConstraints')) errors.push(fieldErrors.required('spec.matchConstraints'))
  else {
    const constraints = objectAt(spec, 'matchConstraints')
    errors.push(...matchErrors('spec.matchConstraints', constraints))
    if (objectsAt(constraints, 'resourceRules').length === 0)
      errors.push(fieldErrors.required('spec.matchConstraints.resourceRules'))
  }
  const sameConditions =
    before !== undefined &&
    ['paramKind', 'matchConditions'].every((field) => jsonEqual(before[field] ?? null, spec[field] ?? null))
  return [...errors, ...policyExpressionErrors(object, spec, sameConditions)]
}

function paramKindErrors(path: string, { apiVersion, kind }: JsonObject): FieldError[] {
  return [
    ...apiVersionErrors(`${path}.apiVersion`, typeof apiVersion === 'string' ? apiVersion : ''),
    ...paramKindNameErrors(`${path}.kind`, typeof kind === 'string' ? kind : ''),
  ]
}

function apiVersionErrors(field: string, text: string): FieldError[] {
  if (text === '') return [fieldErrors.required(field)]
  const parts = text === '/' ? ['', ''] : text.split('/')
  if (parts.length > 2) return [fieldErrors.invalid(field, text, `unexpected GroupVersion string: ${text}`)]
  const [version, group] = [parts.at(-1)!, parts.length === 2 ? parts[0]! : '']
  const groupProblems = group === '' ? [] : dns1123Subdomain(group)
  const errors = groupProblems.length > 0 ? [fieldErrors.invalid(field, group, groupProblems.join(','))] : []
  if (version === '') return [...errors, fieldErrors.invalid(field, text, 'version must be specified')]
  const problems = dns1035Label(version)
  return problems.length > 0 ? [...errors, fieldErrors.invalid(field, version, problems.join(','))] : errors
}

function paramKindNameErrors(field: string, kind: string): FieldError[] {
  if (kind === '') return [fieldErrors.required(field)]
  const problems = dns1035Label(kind.toLowerCase())
  const detail = `may have mixed case, but should otherwise match: ${problems.join(',')}`
  return problems.length > 0 ? [fieldErrors.invalid(field, kind, detail)] : []
}

function matchErrors(path: string, match: JsonObject): FieldError[] {
  return [
    ...oneOf(`${path}.matchPolicy`, stringAt(match, 'matchPolicy'), ['Equivalent', 'Exact']),
    ...selectorErrors(path, match),
    ...['resourceRules', 'excludeResourceRules'].flatMap((list) =>
      objectsAt(match, list).flatMap((rule, index) => namedRuleErrors(fieldPath(path, list, index), rule)),
    ),
  ]
}

function namedRuleErrors(path: string, rule: JsonObject): FieldError[] {
  const names = stringsAt(rule, 'resourceNames')
  const repeated = repeatedIndices(names)
  const errors = names.flatMap((name, index) => {
    const field = fieldPath(path, 'resourceNames', index)
    const problems = invalidWith(field, name, pathSegmentName(name))
    return repeated.has(index) ? [...problems, fieldErrors.duplicate(field, name)] : problems
  })
  return [...errors, ...ruleErrors(path, rule)]
}

const actions = ['Audit', 'Deny', 'Warn']

function bindingErrors(object: KubeObject): FieldError[] {
  const spec = objectAt(object, 'spec')
  const given = stringsAt(spec, 'validationActions')
  const errors: FieldError[] = []
  const policy = stringAt(spec, 'policyName')
  if (policy === '') errors.push(fieldErrors.required('spec.policyName'))
  else errors.push(...invalidWith('spec.policyName', policy, dns1123Subdomain(policy)))
  if (has(spec, 'paramRef')) errors.push(...paramRefErrors('spec.paramRef', objectAt(spec, 'paramRef')))
  if (has(spec, 'matchResources')) errors.push(...matchErrors('spec.matchResources', objectAt(spec, 'matchResources')))
  if (given.length === 0)
    return [...errors, fieldErrors.required('spec.validationActions', 'at least one validation action is required')]
  const repeated = repeatedIndices(given)
  for (const [index, action] of given.entries()) {
    if (!actions.includes(action))
      errors.push(fieldErrors.notSupported(fieldPath('spec.validationActions', index), action, actions))
    if (repeated.has(index)) errors.push(fieldErrors.duplicate(fieldPath('spec.validationActions', index), action))
  }
  if (given.includes('Deny') && given.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
    errors.push(fieldErrors.invalid('spec.validationActions', given, detail))
  }
  return errors
}

function paramRefErrors(path: string, param: JsonObject): FieldError[] {
  const name = stringAt(param, 'name')
  const hasSelector = has(param, 'selector')
  const exclusive = 'name and selector are mutually exclusive'
  const errors: FieldError[] = []
  if (name !== '') {
    errors.push(...invalidWith(`${path}.name`, name, pathSegmentName(name)))
    if (hasSelector) errors.push(fieldErrors.forbidden(`${path}.name`, exclusive))
  }
  if (hasSelector) {
    errors.push(...labelSelectorErrors(`${path}.selector`, objectAt(param, 'selector')))
    if (name !== '') errors.push(fieldErrors.forbidden(`${path}.selector`, exclusive))
  }
  if (name === '' && !hasSelector) errors.push(fieldErrors.required(path, 'one of name or selector must be specified'))
  const action = stringAt(param, 'parameterNotFoundAction')
  const actions = ['Deny', 'Allow']
  if (action === '') errors.push(fieldErrors.required(`${path}.parameterNotFoundAction`))
  else if (!actions.includes(action))
    errors.push(fieldErrors.notSupported(`${path}.parameterNotFoundAction`, action, actions))
  return errors
}
