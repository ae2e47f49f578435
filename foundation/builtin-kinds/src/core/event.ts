// Events: one kind in two groups. Stored as core/v1, served as either; events.k8s.io is validated strictly.
import type { FieldError, JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { asObject, fieldErrors, pathSegmentName, qualifiedName } from '@fairlead/kube'
import { messageOfKind } from '../go-types/message-type.ts'
import type { Strategy } from '../definition/strategy.ts'
import { immutable, invalidWith } from '../checks.ts'
import { has, objectAt, stringAt } from '../fields.ts'
import { typedForm } from '../go-types/typed-form.ts'

/** The strategy of events of the core group. */
export const coreEventStrategy: Strategy = {
  validateName: (name) => pathSegmentName(name),
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validate: (object) => namespaceErrors(object, 'involvedObject'),
  validateUpdate: (object) => namespaceErrors(object, 'involvedObject'),
}

/** The strategy of events of events.k8s.io. Errors have the field names of the core group. */
export const newEventStrategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validate: (object) => newEventErrors(object),
  validateUpdate: (object, old) =>
    has(old as unknown as JsonObject, 'eventTime') ? changeErrors(object, old) : namespaceErrors(object, 'regarding'),
}

/** [core/v1, events.k8s.io/v1]. */
const renamed: readonly (readonly [core: string, event: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
]

/** Converts an event of one group to the other. */
export function convertEvent(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object
  const names = new Map(renamed.map(([core, event]) => (apiVersion === 'v1' ? [event, core] : [core, event])))
  const { apiVersion: _, kind, ...rest } = object as unknown as JsonObject
  const body: MutableJsonObject = { kind: kind ?? 'Event', apiVersion }
  for (const [field, value] of Object.entries(rest)) body[names.get(field) ?? field] = value
  const type = messageOfKind(apiVersion, 'Event')
  return asObject(type === undefined ? body : typedForm(type, body).object)
}

function namespaceErrors(object: KubeObject, field: string): FieldError[] {
  const regarding = stringAt(object, field, 'namespace')
  const namespace = object.metadata.namespace ?? ''
  if (
    regarding === ''
      ? namespace === 'default' || namespace === '' || namespace === 'kube-system'
      : regarding === namespace
  )
    return []
  return [fieldErrors.invalid('involvedObject.namespace', regarding, 'does not match event.namespace')]
}

function newEventErrors(object: KubeObject): FieldError[] {
  const errors = namespaceErrors(object, 'regarding')
  if (!has(object as unknown as JsonObject, 'eventTime')) errors.push(fieldErrors.required('eventTime'))
  else errors.push(...requiredErrors(object))
  const type = stringAt(object, 'type')
  if (type !== 'Normal' && type !== 'Warning')
    errors.push(fieldErrors.invalid('type', type, `has invalid value: ${type}`))
  return errors
}

function requiredErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = []
  const controller = stringAt(object, 'reportingController')
  if (controller === '') errors.push(fieldErrors.required('reportingController'))
  else errors.push(...invalidWith('reportingController', controller, qualifiedName(controller)))
  for (const [field, limit] of [
    ['reportingInstance', 128],
    ['action', 128],
    ['reason', 128],
  ] as const) {
    const text = stringAt(object, field)
    if (text === '') errors.push(fieldErrors.required(field))
    else if (text.length > limit) errors.push(fieldErrors.invalid(field, '', `can have at most ${limit} characters`))
  }
  if (stringAt(object, 'note').length > 1024)
    errors.push(fieldErrors.invalid('message', '', 'can have at most 1024 characters'))
  return errors
}

/** The immutable fields of an event, by their names in the core group. */
const fixedFields: readonly (readonly [event: string, core: string])[] = [
  ['regarding', 'involvedObject'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingController', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
]

function changeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const now = objectAt(object)
  const before = objectAt(old)
  return [
    ...namespaceErrors(object, 'regarding'),
    ...fixedFields.flatMap(([field, shown]) => immutable(shown, now[field], before[field])),
  ]
}
