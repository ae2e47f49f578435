// Access reviews (authorization.k8s.io): takes a review object and returns it with its status.
import {
  badRequest,
  fieldErrors,
  fieldPath,
  invalid,
  isJsonArray,
  isJsonObject,
  labelValue,
  marshalGoJson,
  parseFieldSelector,
  parseJson,
  parseLabelSelector,
  qualifiedName,
  stringifyJson,
} from '@fairlead/kube'
import type { FieldError, JsonObject, JsonValue, KubeObject, MutableJsonObject, UserInfo } from '@fairlead/kube'
import type { Attributes, Authorizer } from '../identity/authorizer.ts'

/** The context of an access review. */
export interface AccessReviewContext {
  readonly user: UserInfo
  readonly authorizer: Authorizer
  /** Of the request's path; '' for cluster-wide reviews. */
  readonly namespace: string
}

/** Answers one kind of review. Throws a StatusError 422 or 400 for an invalid review. */
export type AccessReview = (object: KubeObject, context: AccessReviewContext) => KubeObject

interface SelectorRequirement {
  readonly key?: string
  readonly operator?: string
  readonly values?: readonly string[] | null
}

interface SelectorAttributes {
  readonly rawSelector?: string
  readonly requirements?: readonly SelectorRequirement[] | null
}

interface ResourceAttributes {
  readonly namespace?: string
  readonly verb?: string
  readonly group?: string
  readonly version?: string
  readonly resource?: string
  readonly subresource?: string
  readonly name?: string
  readonly fieldSelector?: SelectorAttributes | null
  readonly labelSelector?: SelectorAttributes | null
}

interface NonResourceAttributes {
  readonly path?: string
  readonly verb?: string
}

interface ReviewSpec {
  readonly resourceAttributes?: ResourceAttributes | null
  readonly nonResourceAttributes?: NonResourceAttributes | null
  readonly user?: string
  readonly uid?: string
  readonly groups?: readonly string[] | null
  readonly extra?: Readonly<Record<string, readonly string[]>> | null
}

const group = 'authorization.k8s.io'

/** The reviews of authorization.k8s.io/v1 by kind. */
export const accessReviews: Readonly<Record<string, AccessReview>> = {
  SelfSubjectAccessReview: (object, { user, authorizer }) => {
    const spec = specOf(object)
    throwInvalid([...metadataErrors(object, false), ...specErrors(spec)])
    return withDecision(object, spec, user, authorizer)
  },

  SubjectAccessReview: (object, { authorizer }) => {
    const spec = specOf(object)
    throwInvalid([...metadataErrors(object, false), ...specErrors(spec), ...subjectErrors(spec)])
    return withDecision(object, spec, subjectOf(spec), authorizer)
  },

  LocalSubjectAccessReview: (object, { authorizer, namespace }) => {
    const spec = specOf(object)
    throwInvalid([
      ...specErrors(spec),
      ...subjectErrors(spec),
      ...metadataErrors(object, true),
      ...localErrors(spec, namespace),
    ])
    return withDecision(object, spec, subjectOf(spec), authorizer)
  },

  SelfSubjectRulesReview: (object, { user, authorizer }) => {
    const { namespace = '' } = (object.spec ?? {}) as { namespace?: string }
    if (namespace === '') throw badRequest('no namespace on request')
    const status = authorizer.rulesFor(user, namespace)
    return { apiVersion: object.apiVersion, kind: object.kind, metadata: {}, spec: {}, status }
  },
}

function specOf(object: KubeObject): ReviewSpec {
  return (object.spec ?? {}) as ReviewSpec
}

function withDecision(object: KubeObject, spec: ReviewSpec, user: UserInfo, authorizer: Authorizer): KubeObject {
  const { allowed, reason } = authorizer.authorize(attributesOf(spec, user))
  const evaluationError = selectorProblems(spec.resourceAttributes ?? {}).join('; ')
  return {
    ...object,
    status: { allowed, ...(reason !== '' && { reason }), ...(evaluationError !== '' && { evaluationError }) },
  }
}

/** Returns which selectors of a review are not taken into account, because they cannot be read. */
function selectorProblems({ fieldSelector, labelSelector }: ResourceAttributes): string[] {
  const problem = (name: string, all: readonly boolean[]): string[] => {
    if (!all.includes(false)) return []
    const extent = all.includes(true) ? 'partially ignored' : 'ignored'
    return [`spec.resourceAttributes.${name} ${extent} due to parse error`]
  }
  const isReadable = (raw: string, read: (text: string) => unknown): boolean => {
    try {
      read(raw)
      return true
    } catch {
      return false
    }
  }
  const readable = (
    selector: SelectorAttributes | null | undefined,
    read: (text: string) => unknown,
    isRequirement: (requirement: SelectorRequirement) => boolean,
  ): boolean[] => {
    const { rawSelector = '', requirements } = selector ?? {}
    return [
      ...(rawSelector === '' ? [] : [isReadable(rawSelector, read)]),
      ...(requirements ?? []).map((requirement) => isRequirement(requirement)),
    ]
  }
  return [
    ...problem('fieldSelector', readable(fieldSelector, parseFieldSelector, isFieldRequirement)),
    ...problem('labelSelector', readable(labelSelector, parseLabelSelector, isLabelRequirement)),
  ]
}

function isFieldRequirement({ operator = '', values }: SelectorRequirement): boolean {
  return (operator === 'In' || operator === 'NotIn') && (values ?? []).length === 1
}

function isLabelRequirement({ key = '', operator = '', values }: SelectorRequirement): boolean {
  if (!['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator) || qualifiedName(key).length > 0) return false
  const isSet = operator === 'In' || operator === 'NotIn'
  const given = values ?? []
  return isSet ? given.length > 0 && given.every((value) => labelValue(value).length === 0) : given.length === 0
}

function attributesOf({ resourceAttributes, nonResourceAttributes }: ReviewSpec, user: UserInfo): Attributes {
  if (resourceAttributes === undefined || resourceAttributes === null) {
    return { user, verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? '' }
  }
  const { verb = '', group = '', version, resource = '', subresource, namespace, name } = resourceAttributes
  return { user, verb, group, version, resource, subresource, namespace, name }
}

function subjectOf({ user = '', uid, groups, extra }: ReviewSpec): UserInfo {
  return {
    name: user,
    groups: groups ?? [],
    ...(uid !== undefined && { uid }),
    ...(extra !== undefined && extra !== null && { extra }),
  }
}

/** Throws a StatusError 422 for errors. Reviews have no name, so the message begins with the group alone. */
function throwInvalid(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group, kind: '' }, '', errors)
}

function specErrors({ resourceAttributes, nonResourceAttributes }: ReviewSpec): FieldError[] {
  const resource = resourceAttributes ?? undefined
  const path = nonResourceAttributes ?? undefined
  if (resource === undefined && path === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    return [fieldErrors.invalid('spec.resourceAttributes', null, detail)]
  }
  const errors: FieldError[] = []
  if (resource !== undefined && path !== undefined) {
    errors.push(
      fieldErrors.invalid(
        'spec.nonResourceAttributes',
        goStruct({ path: '', verb: '', ...path }),
        'cannot be specified in combination with resourceAttributes',
      ),
    )
  }
  for (const name of ['fieldSelector', 'labelSelector'] as const) {
    const selector = resource?.[name] ?? undefined
    if (selector !== undefined) errors.push(...selectorErrors(selector, `spec.resourceAttributes.${name}`))
  }
  return errors
}

function selectorErrors({ rawSelector = '', requirements }: SelectorAttributes, path: string): FieldError[] {
  const count = requirements?.length ?? 0
  if (rawSelector !== '' && count > 0) {
    return [
      fieldErrors.invalid(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements'),
    ]
  }
  if (rawSelector === '' && count === 0) {
    return [
      fieldErrors.required(
        `${path}.requirements`,
        `when ${path} is specified, requirements or rawSelector is required`,
      ),
    ]
  }
  return (requirements ?? []).flatMap((requirement, index) =>
    requirementErrors(requirement, fieldPath(path, 'requirements', index), path.endsWith('labelSelector')),
  )
}

/** Validates a requirement; unknown operators are for servers of the future. */
function requirementErrors(
  { key = '', operator = '', values }: SelectorRequirement,
  path: string,
  isLabel: boolean,
): FieldError[] {
  const given = values ?? []
  const errors: FieldError[] = []
  if ((operator === 'In' || operator === 'NotIn') && given.length === 0)
    errors.push(fieldErrors.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"))
  if ((operator === 'Exists' || operator === 'DoesNotExist') && given.length > 0)
    errors.push(
      fieldErrors.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
    )
  if (!isLabel) return key === '' ? [...errors, fieldErrors.required(`${path}.key`, 'must be specified')] : errors
  return [
    ...errors,
    ...qualifiedName(key).map((message) => fieldErrors.invalid(`${path}.key`, key, message)),
    ...given.flatMap((value, index) =>
      labelValue(value).map((message) => fieldErrors.invalid(fieldPath(path, 'values', index), value, message)),
    ),
  ]
}

function subjectErrors({ user = '', groups }: ReviewSpec): FieldError[] {
  if (user !== '' || (groups?.length ?? 0) > 0) return []
  return [fieldErrors.invalid('spec.user', user, 'at least one of user or group must be specified')]
}

function localErrors({ resourceAttributes, nonResourceAttributes }: ReviewSpec, namespace: string): FieldError[] {
  const errors: FieldError[] = []
  const requested = resourceAttributes?.namespace ?? ''
  if (resourceAttributes !== undefined && resourceAttributes !== null && requested !== namespace) {
    errors.push(fieldErrors.invalid('spec.resourceAttributes.namespace', requested, 'must match metadata.namespace'))
  }
  if (nonResourceAttributes !== undefined && nonResourceAttributes !== null) {
    errors.push(
      fieldErrors.invalid(
        'spec.nonResourceAttributes',
        goStruct({ path: '', verb: '', ...nonResourceAttributes }),
        'disallowed on this kind of request',
      ),
    )
  }
  return errors
}

/** The metadata that clients may not set, in the order of Go's type; the server sets the rest itself. */
const metadataFields = [
  'name',
  'generateName',
  'namespace',
  'resourceVersion',
  'generation',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const

/**
 * Returns an error unless the metadata of a review is empty but for managedFields, and for the namespace when `local`.
 */
function metadataErrors({ metadata }: KubeObject, local: boolean): FieldError[] {
  const shown: MutableJsonObject = {}
  for (const field of metadataFields) {
    const value = (metadata as unknown as JsonObject)[field]
    if (value !== undefined && value !== null && value !== '' && (local || field !== 'namespace')) shown[field] = value
  }
  if (Object.keys(shown).every((field) => field === 'managedFields' || field === 'namespace')) return []
  for (const map of ['labels', 'annotations'])
    if (isJsonObject(shown[map])) shown[map] = parseJson(marshalGoJson(shown[map]))
  if (isJsonArray(shown['managedFields'])) shown['managedFields'] = shown['managedFields'].map(entryInOrder)
  const detail = local ? 'must be empty except for namespace' : 'must be empty'
  return [{ ...fieldErrors.invalid('metadata', shown, detail), shown: stringifyJson(shown) }]
}

/** Returns an entry of managedFields with its fields in the order of Go's type. */
function entryInOrder(entry: JsonValue): JsonValue {
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1 } = entry as JsonObject
  const all = { manager, operation, apiVersion, time, fieldsType, fieldsV1 }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/** Returns a value with the field names of Go, as messages contain them. */
function goStruct(value: object): JsonValue {
  const out: MutableJsonObject = {}
  for (const [key, field] of Object.entries(value) as [string, JsonValue][])
    out[key.charAt(0).toUpperCase() + key.slice(1)] = field
  return out
}
