// Events: one kind in two groups. Stored as core/v1, served as either; events.k8s.io is validated strictly.
import type { FieldError, JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { asJson, asObject, fieldErrors, isJsonObject, jsonEqual, pathSegmentName, qualifiedName } from '@fairlead/kube'
import { messageOfKind } from '../go-types/message-type.ts'
import type { Strategy } from '../definition/strategy.ts'
import { immutable, invalidWith } from '../checks.ts'
import { has, numberAt, objectAt, stringAt } from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { typedForm } from '../go-types/typed-form.ts'

/** The strategy of events of the core group. */
export const coreEventStrategy: Strategy = {
  validateName: (name) => pathSegmentName(name),
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validate: (object) => legacyErrors(object, 'involvedObject'),
  validateUpdate: (object) => legacyErrors(object, 'involvedObject'),
}

/** The strategy of events of events.k8s.io. Errors have the field names of the core group. */
export const newEventStrategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validate: (object) => newEventErrors(object),
  validateUpdate: (object, old) => [...legacyErrors(object, 'regarding'), ...changeErrors(object, old)],
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

function hasEventTime(object: KubeObject): boolean {
  return has(asJson(object), 'eventTime')
}

/** Validates an event of either group: those with `eventTime` are new ones, which name their reporter and action. */
function legacyErrors(object: KubeObject, field: 'involvedObject' | 'regarding'): FieldError[] {
  const regarding = stringAt(object, field, 'namespace')
  const namespace = object.metadata.namespace ?? ''
  const mismatch = [fieldErrors.invalid('involvedObject.namespace', regarding, 'does not match event.namespace')]
  if (!hasEventTime(object)) {
    const fits = regarding === '' ? namespace === 'default' || namespace === '' : regarding === namespace
    return fits ? [] : mismatch
  }
  const isMisplaced = regarding === '' && namespace !== 'default' && namespace !== 'kube-system'
  return [...(isMisplaced ? mismatch : []), ...reporterErrors(object, field === 'involvedObject')]
}

function newEventErrors(object: KubeObject): FieldError[] {
  const errors = [...legacyErrors(object, 'regarding'), ...seriesErrors(object)]
  if (!hasEventTime(object)) errors.push(fieldErrors.required('eventTime'))
  const type = stringAt(object, 'type')
  if (type !== 'Normal' && type !== 'Warning')
    errors.push(fieldErrors.invalid('type', '', `has invalid value: ${type}`))
  for (const [field, core] of [
    ['deprecatedFirstTimestamp', 'firstTimestamp'],
    ['deprecatedLastTimestamp', 'lastTimestamp'],
    ['deprecatedCount', 'count'],
    ['deprecatedSource', 'source'],
  ] as const)
    if (isSet(asJson(object)[field])) errors.push(fieldErrors.invalid(core, '', 'needs to be unset'))
  return errors
}

function isSet(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === 0) return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}

function seriesErrors(object: KubeObject): FieldError[] {
  if (!has(asJson(object), 'series')) return []
  const errors: FieldError[] = []
  if ((numberAt(object, 'series', 'count') ?? 0) < 2)
    errors.push(fieldErrors.invalid('series.count', '', 'should be at least 2'))
  if (stringAt(object, 'series', 'lastObservedTime') === '')
    errors.push(fieldErrors.required('series.lastObservedTime'))
  return errors
}

function reporterErrors(object: KubeObject, isCore: boolean): FieldError[] {
  const name = isCore ? 'reportingComponent' : 'reportingController'
  const controller = stringAt(object, name)
  const errors = controller === '' ? [fieldErrors.required(name)] : []
  errors.push(...invalidWith(name, controller, qualifiedName(controller)))
  for (const field of ['reportingInstance', 'action', 'reason']) {
    const text = stringAt(object, field)
    if (text === '') errors.push(fieldErrors.required(field))
    if (Buffer.byteLength(text) > 128) errors.push(fieldErrors.invalid(field, '', 'can have at most 128 characters'))
  }
  if (Buffer.byteLength(stringAt(object, isCore ? 'message' : 'note')) > 1024)
    errors.push(fieldErrors.invalid('message', '', 'can have at most 1024 characters'))
  return errors
}

/**
 * The immutable fields of an event, by their names in the core group. Like the real server, it checks the reason twice.
 */
const fixedFields: readonly (readonly [event: string, core: string])[] = [
  ['regarding', 'involvedObject'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['reason', 'reason'],
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
    ...(jsonEqual(now['series'] ?? null, before['series'] ?? null) ? [] : seriesErrors(object)),
    ...fixedFields.flatMap(([field, shown]) => fixedErrors(shown, now[field], before[field])),
  ]
}

/** Like {@link immutable}; structs are shown in their internal form. */
function fixedErrors(shown: string, now: JsonValue | undefined, before: JsonValue | undefined): FieldError[] {
  // Strings of Go are never null.
  if (typeof before === 'string' && !shown.endsWith('Timestamp') && shown !== 'eventTime')
    return immutable(shown, now ?? '', before)
  if (!isJsonObject(now) || jsonEqual(now, before ?? null)) return immutable(shown, now, before)
  const type = shown === 'source' ? 'k8s.io.api.core.v1.EventSource' : 'k8s.io.api.core.v1.ObjectReference'
  return [invalidInternal(shown, type, now, 'field is immutable')]
}
