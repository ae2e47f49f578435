// Roles, bindings and service accounts. The prevention of privilege escalation is in the admission plugins.
import type { FieldError, JsonObject, KubeObject, LabelSelector } from '@fairlead/kube'
import { fieldErrors, fieldPath, jsonEqual, pathSegmentName, selectorFrom } from '@fairlead/kube'
import type { Draft, Strategy } from '../definition/strategy.ts'
import { invalidStruct, invalidWith, labelSelectorErrors, subdomainName } from '../checks.ts'
import { draftAt, draftsAt, fillStrings, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

const rbacGroup = 'rbac.authorization.k8s.io'

/** Names in RBAC must be valid path segments. */
const validateName = (name: string): readonly string[] => pathSegmentName(name)

/** The strategy of Roles. */
export const roleStrategy: Strategy = {
  validateName,
  allowCreateOnUpdate: true,
  validate: (object) => rulesErrors(object, true),
  validateUpdate: (object) => rulesErrors(object, true),
}

/** The strategy of ClusterRoles. */
export const clusterRoleStrategy: Strategy = {
  validateName,
  allowCreateOnUpdate: true,
  validate: clusterRoleErrors,
  validateUpdate: clusterRoleErrors,
}

/** The strategy of RoleBindings and ClusterRoleBindings: roleRef is immutable. */
export const bindingStrategy: Strategy = {
  validateName,
  allowCreateOnUpdate: true,
  applyDefaults(object) {
    fillStrings(draftAt(object, 'roleRef'), { apiGroup: rbacGroup })
    for (const subject of draftsAt(object, 'subjects')) {
      if (subject['kind'] === 'User' || subject['kind'] === 'Group') fillStrings(subject, { apiGroup: rbacGroup })
    }
  },
  validate: bindingErrors,
  validateUpdate(object, old) {
    const errors = bindingErrors(object)
    const role = objectAt(object, 'roleRef')
    return jsonEqual(role, objectAt(old, 'roleRef'))
      ? errors
      : [...errors, invalidStruct('roleRef', goRoleRef(role), 'cannot change roleRef')]
  },
}

/** The strategy of ServiceAccounts. */
export const serviceAccountStrategy: Strategy = {
  returnsDeletedObject: true,
  allowCreateOnUpdate: false,
  prepareForCreate: keepSecretNames,
  prepareForUpdate: keepSecretNames,
  warnings(object, old) {
    const key = 'kubernetes.io/enforce-mountable-secrets'
    const value = object.metadata.annotations?.[key]
    if (value === undefined || (old !== undefined && old.metadata.annotations?.[key] === value)) return []
    const advice = 'deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets'
    return [`metadata.annotations[${key}]: ${advice}`]
  },
}

/** Secrets are in the account's namespace: of a reference only the name counts. */
function keepSecretNames(object: Draft): void {
  const secrets = draftsAt(object, 'secrets')
  for (const secret of secrets) for (const field of Object.keys(secret)) if (field !== 'name') delete secret[field]
}

function goRoleRef(role: JsonObject): JsonObject {
  return { APIGroup: stringAt(role, 'apiGroup'), Kind: stringAt(role, 'kind'), Name: stringAt(role, 'name') }
}

function rulesErrors(object: KubeObject, isNamespaced: boolean): FieldError[] {
  return objectsAt(object, 'rules').flatMap((rule, index) => ruleErrors(fieldPath('rules', index), rule, isNamespaced))
}

function ruleErrors(path: string, rule: JsonObject, isNamespaced: boolean): FieldError[] {
  const resources = stringsAt(rule, 'resources')
  const groups = stringsAt(rule, 'apiGroups')
  const urls = stringsAt(rule, 'nonResourceURLs')
  const errors: FieldError[] = []
  if (stringsAt(rule, 'verbs').length === 0)
    errors.push(fieldErrors.required(`${path}.verbs`, 'verbs must contain at least one value'))
  if (urls.length > 0) {
    if (isNamespaced)
      errors.push(
        fieldErrors.invalid(`${path}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'),
      )
    if (groups.length > 0 || resources.length > 0 || stringsAt(rule, 'resourceNames').length > 0) {
      errors.push(
        fieldErrors.invalid(
          `${path}.nonResourceURLs`,
          urls,
          'rules cannot apply to both regular resources and non-resource URLs',
        ),
      )
    }
    return errors
  }
  if (groups.length === 0)
    errors.push(fieldErrors.required(`${path}.apiGroups`, 'resource rules must supply at least one api group'))
  if (resources.length === 0)
    errors.push(fieldErrors.required(`${path}.resources`, 'resource rules must supply at least one resource'))
  return errors
}

function clusterRoleErrors(object: KubeObject): FieldError[] {
  const selectors = objectsAt(object, 'aggregationRule', 'clusterRoleSelectors')
  const errors = rulesErrors(object, false)
  if ('aggregationRule' in object && object['aggregationRule'] !== null && selectors.length === 0) {
    errors.push(
      fieldErrors.required(
        'aggregationRule.clusterRoleSelectors',
        'at least one clusterRoleSelector required if aggregationRule is non-nil',
      ),
    )
  }
  return [
    ...errors,
    ...selectors.flatMap((selector, index) => {
      const path = fieldPath('aggregationRule.clusterRoleSelectors', index)
      const invalid = isSelector(selector) ? [] : [fieldErrors.invalid(path, null, 'invalid label selector.')]
      return [...labelSelectorErrors(path, selector), ...invalid]
    }),
  ]
}

function isSelector(selector: JsonObject): boolean {
  try {
    selectorFrom(selector as LabelSelector)
    return true
  } catch {
    return false
  }
}

function bindingErrors(object: KubeObject): FieldError[] {
  const role = objectAt(object, 'roleRef')
  const errors: FieldError[] = []
  if (stringAt(role, 'apiGroup') !== rbacGroup)
    errors.push(fieldErrors.notSupported('roleRef.apiGroup', stringAt(role, 'apiGroup'), [rbacGroup]))
  const kinds = object.kind === 'RoleBinding' ? ['Role', 'ClusterRole'] : ['ClusterRole']
  if (!kinds.includes(stringAt(role, 'kind')))
    errors.push(fieldErrors.notSupported('roleRef.kind', stringAt(role, 'kind'), kinds))
  const name = stringAt(role, 'name')
  if (name === '') errors.push(fieldErrors.required('roleRef.name'))
  else errors.push(...invalidWith('roleRef.name', name, pathSegmentName(name)))
  const isNamespaced = object.kind === 'RoleBinding'
  return [
    ...errors,
    ...objectsAt(object, 'subjects').flatMap((subject, index) =>
      subjectErrors(fieldPath('subjects', index), subject, isNamespaced),
    ),
  ]
}

function subjectErrors(path: string, subject: JsonObject, isNamespaced: boolean): FieldError[] {
  const name = stringAt(subject, 'name')
  const group = stringAt(subject, 'apiGroup')
  const errors: FieldError[] = []
  if (name === '') errors.push(fieldErrors.required(`${path}.name`))
  switch (stringAt(subject, 'kind')) {
    case 'ServiceAccount':
      if (name !== '') errors.push(...subdomainName(`${path}.name`, name))
      if (group !== '') errors.push(fieldErrors.notSupported(`${path}.apiGroup`, group, ['']))
      if (!isNamespaced && stringAt(subject, 'namespace') === '') errors.push(fieldErrors.required(`${path}.namespace`))
      return errors
    case 'User':
    case 'Group':
      if (group !== rbacGroup) errors.push(fieldErrors.notSupported(`${path}.apiGroup`, group, [rbacGroup]))
      return errors
    default:
      return [
        ...errors,
        fieldErrors.notSupported(`${path}.kind`, stringAt(subject, 'kind'), ['ServiceAccount', 'User', 'Group']),
      ]
  }
}
