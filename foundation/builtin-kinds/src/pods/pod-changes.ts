// Validation of pod updates: of the pod itself, its ephemeral containers, its resources (pkg/apis/core/validation,
// v1.35).
import type { FieldError, JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, goQuote, jsonEqual, marshalGoJson } from '@fairlead/kube'
import { imageErrors } from './pod-images.ts'
import { has, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { structDifference } from '../go-types/struct-difference.ts'
import { podSpecDifference } from './pod-spec-difference.ts'
import { qualityOfService } from './quality-of-service.ts'

/** Validates the changes from the old pod to the new one. `subresource`: '' for the pod itself. */
export function podChangeErrors(object: KubeObject, old: KubeObject, subresource: string): FieldError[] {
  const [spec, before] = [objectAt(object, 'spec'), objectAt(old, 'spec')]
  if (subresource === 'ephemeralcontainers') return ephemeralErrors(spec, before)
  if (subresource === 'resize') return resizeErrors(spec, before)
  return specChangeErrors(spec, before)
}

/** Returns the old spec with the ephemeral containers of the new one. */
export function withEphemeralContainers(old: JsonObject, spec: JsonObject): JsonObject {
  const { ephemeralContainers: _old, ...rest } = old
  return withField(rest, 'ephemeralContainers', spec['ephemeralContainers'])
}

/** Returns the old spec with the resources of the new one's containers, and how they are resized. */
export function withResources(old: JsonObject, spec: JsonObject): JsonObject {
  const next: MutableJsonObject = { ...old }
  for (const list of ['containers', 'initContainers']) {
    if (!has(old, list)) continue
    const given = new Map(
      objectsAt(spec, list)
        .toReversed()
        .map((container) => [container['name'], container]),
    )
    next[list] = objectsAt(old, list).map((container) => {
      const found = given.get(container['name'])
      if (found === undefined) return container
      const { resizePolicy: _policy, ...rest } = container
      return withField(withField(rest, 'resources', found['resources']), 'resizePolicy', found['resizePolicy'])
    })
  }
  return next
}

const changeable =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,' +
  '`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

function specChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  for (const [list, kind] of [
    ['containers', 'containers'],
    ['initContainers', 'init containers'],
  ] as const) {
    if (objectsAt(spec, list).length !== objectsAt(old, list).length)
      return [...errors, fieldErrors.forbidden(`spec.${list}`, `pod updates may not add or remove ${kind}`)]
    errors.push(...imageErrors(`spec.${list}`, objectsAt(spec, list)))
  }
  const seconds = numberAt(spec, 'activeDeadlineSeconds')
  const before = numberAt(old, 'activeDeadlineSeconds')
  const deadline = deadlineChangeErrors(seconds, before)
  if (deadline.length > 0 && seconds !== undefined) return [...errors, ...deadline]
  errors.push(...deadline)
  errors.push(...tolerationChangeErrors(spec, old), ...gateChangeErrors(spec, old))
  const allowed = withAllowedChanges(spec, old, errors)
  if (!jsonEqual(allowed, old))
    errors.push(fieldErrors.forbidden('spec', `${changeable}\n${podSpecDifference(old, allowed)}`))
  return errors
}

function deadlineChangeErrors(seconds: number | undefined, old: number | undefined): FieldError[] {
  if (old === undefined || seconds === old) return []
  const field = 'spec.activeDeadlineSeconds'
  if (seconds === undefined)
    return [fieldErrors.invalid(field, null, 'must not update from a positive integer to nil value')]
  return seconds > old ? [fieldErrors.invalid(field, seconds, 'must be less than or equal to previous value')] : []
}

function tolerationChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const timeless = ({ tolerationSeconds: _seconds, ...rest }: JsonObject): JsonObject => rest
  const now = new Set(objectsAt(spec, 'tolerations').map((toleration) => marshalGoJson(timeless(toleration))))
  const kept = objectsAt(old, 'tolerations').every((toleration) => now.has(marshalGoJson(timeless(toleration))))
  return kept
    ? []
    : [
        fieldErrors.forbidden(
          'spec.tolerations',
          'existing toleration can not be modified except its tolerationSeconds',
        ),
      ]
}

function gateChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const before = new Set(objectsAt(old, 'schedulingGates').map((gate) => stringAt(gate, 'name')))
  return objectsAt(spec, 'schedulingGates').flatMap((gate, index) => {
    const name = stringAt(gate, 'name')
    if (before.has(name)) return []
    return [
      fieldErrors.forbidden(
        fieldPath('spec.schedulingGates', index, 'name'),
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      ),
    ]
  })
}

/** Returns the new spec with the old values of the mutable fields; adds the errors of gated pods to `errors`. */
function withAllowedChanges(spec: JsonObject, old: JsonObject, errors: FieldError[]): JsonObject {
  let next: MutableJsonObject = { ...spec }
  for (const list of ['containers', 'initContainers']) {
    if (!has(spec, list)) continue
    next[list] = objectsAt(spec, list).map((container, index) => {
      const { image: _image, ...rest } = container
      return ordered(container, withField(rest, 'image', objectsAt(old, list)[index]?.['image']))
    })
  }
  for (const field of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations']) next = restored(next, old, field)
  if (
    (numberAt(old, 'terminationGracePeriodSeconds') ?? 0) < 0 &&
    numberAt(spec, 'terminationGracePeriodSeconds') === 1
  )
    next = restored(next, old, 'terminationGracePeriodSeconds')
  if (objectsAt(old, 'schedulingGates').length === 0) return next
  return withoutSchedulingChanges(next, old, errors)
}

/** Restores the scheduling fields of a gated pod, whose node selector and affinity may only become stricter. */
function withoutSchedulingChanges(spec: MutableJsonObject, old: JsonObject, errors: FieldError[]): JsonObject {
  const [now, before] = [objectAt(spec, 'nodeSelector'), objectAt(old, 'nodeSelector')]
  if (Object.entries(before).some(([key, value]) => now[key] !== value))
    errors.push(
      fieldErrors.invalid(
        'spec.nodeSelector',
        now,
        'only additions are allowed to nodeSelector (no mutations or deletions)',
      ),
    )
  return restored(spec, old, 'nodeSelector')
}

function restored(spec: MutableJsonObject, old: JsonObject, field: string): MutableJsonObject {
  const { [field]: _value, ...rest } = spec
  return ordered(spec, withField(rest, field, old[field])) as MutableJsonObject
}

function ordered(like: JsonObject, object: JsonObject): JsonObject {
  const keys = [...new Set([...Object.keys(like), ...Object.keys(object)])]
  return Object.fromEntries(keys.flatMap((key) => (object[key] === undefined ? [] : [[key, object[key]]])))
}

function withField(object: JsonObject, field: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? object : { ...object, [field]: value }
}

function ephemeralErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const field = 'spec.ephemeralContainers'
  const now = new Map(objectsAt(spec, 'ephemeralContainers').map((container) => [container['name'], container]))
  return objectsAt(old, 'ephemeralContainers').flatMap((container) => {
    const name = goQuote(stringAt(container, 'name'))
    const next = now.get(container['name'])
    if (next === undefined)
      return [fieldErrors.forbidden(field, `existing ephemeral containers ${name} may not be removed\n`)]
    if (jsonEqual(next, container)) return []
    const difference = structDifference('k8s.io.api.core.v1.EphemeralContainer', container, next)
    return [fieldErrors.forbidden(field, `existing ephemeral containers ${name} may not be changed\n${difference}`)]
  })
}

function resizeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  if (has(spec, 'resources')) {
    const gate = 'InPlacePodLevelResourcesVerticalScalingEnabled'
    const why = `resize of pods with pod-level resources is forbidden when ${gate} feature gate is disabled`
    return [fieldErrors.forbidden('[]', why)]
  }
  const errors: FieldError[] = []
  if (qualityOfService(spec) !== qualityOfService(old))
    errors.push(
      fieldErrors.invalid('spec', qualityOfService(old), 'Pod QOS Class may not change as a result of resizing'),
    )
  for (const [index, container] of objectsAt(spec, 'containers').entries()) {
    const before = objectsAt(old, 'containers')[index] ?? {}
    const path = fieldPath('spec.containers', index, 'resources')
    for (const list of ['requests', 'limits']) {
      const [now, then] = [objectAt(container, 'resources', list), objectAt(before, 'resources', list)]
      if (['cpu', 'memory'].some((name) => then[name] !== undefined && now[name] === undefined))
        errors.push(fieldErrors.forbidden(`${path}.${list}`, `resource ${list} cannot be removed`))
    }
    if (!jsonEqual(withoutComputeResources(container), withoutComputeResources(before)))
      errors.push(fieldErrors.forbidden('spec', 'only cpu and memory resources are mutable'))
  }
  for (const [index, container] of objectsAt(spec, 'initContainers').entries()) {
    const before = objectsAt(old, 'initContainers')[index] ?? {}
    const isSidecar = stringAt(container, 'restartPolicy') === 'Always'
    const same = isSidecar
      ? jsonEqual(withoutComputeResources(container), withoutComputeResources(before))
      : jsonEqual(container, before)
    if (!same)
      errors.push(
        fieldErrors.forbidden(
          'spec',
          isSidecar
            ? 'only cpu and memory resources for sidecar containers are mutable'
            : 'resources for non-sidecar init containers are immutable',
        ),
      )
  }
  return errors
}

function withoutComputeResources(container: JsonObject): JsonObject {
  const rest = (list: string): JsonObject =>
    Object.fromEntries(
      Object.entries(objectAt(container, 'resources', list)).filter(([name]) => name !== 'cpu' && name !== 'memory'),
    )
  const { resources: _resources, ...others } = container
  return { ...others, limits: rest('limits'), requests: rest('requests') }
}
