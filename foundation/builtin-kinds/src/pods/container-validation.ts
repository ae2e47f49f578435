// Validation of containers: regular, init and ephemeral ones (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, portName } from '@fairlead/kube'
import { invalidWith, labelName, oneOf, portNumber } from '../checks.ts'
import { has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { environmentErrors, environmentSourceErrors } from './environment-validation.ts'
import { mountErrors, volumeDeviceErrors } from './mount-validation.ts'
import type { ProbeContext } from './probe-validation.ts'
import { lifecycleAndProbeErrors } from './probe-validation.ts'
import { resourceErrors } from './resource-validation.ts'
import { containerSecurityErrors } from './security-validation.ts'

/** The fields of the pod that the validation of a container reads. */
export interface ContainerContext extends ProbeContext {
  readonly volumes: ReadonlyMap<string, JsonObject>
  readonly claims: ReadonlySet<string>
  readonly restartPolicy: string
  /** The pod uses the user namespace of its node. */
  readonly hostUsers: boolean
}

/** Validates `containers`. */
export function containerErrors(
  field: string,
  containers: readonly JsonObject[],
  context: ContainerContext,
): FieldError[] {
  if (containers.length === 0) return [fieldErrors.required(field)]
  const names = new Set<string>()
  const errors = containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    return [
      ...commonErrors(path, container, context),
      ...repeatedName(path, container, names),
      ...lifecycleAndProbeErrors(path, container, context),
      ...restartErrors(path, container),
    ]
  })
  return [...errors, ...hostPortErrors(field, containers)]
}

/** Validates `initContainers`; those that always restart (sidecars) may have probes. */
export function initContainerErrors(
  field: string,
  containers: readonly JsonObject[],
  regular: readonly JsonObject[],
  context: ContainerContext,
): FieldError[] {
  const names = new Set(regular.map((container) => stringAt(container, 'name')))
  return containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    const errors = [
      ...commonErrors(path, container, context),
      ...restartErrors(path, container),
      ...repeatedName(path, container, names),
      ...hostPortErrors(field, [container]),
    ]
    if (stringAt(container, 'restartPolicy') === 'Always')
      return [...errors, ...lifecycleAndProbeErrors(path, container, context)]
    const forbidden = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']
      .filter((name) => has(container, name))
      .map((name) =>
        fieldErrors.forbidden(`${path}.${name}`, 'may not be set for init containers without restartPolicy=Always'),
      )
    return [...errors, ...forbidden]
  })
}

const ephemeralMayNotHave = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
]

/** Validates `ephemeralContainers`. */
export function ephemeralContainerErrors(
  field: string,
  containers: readonly JsonObject[],
  others: readonly JsonObject[],
  context: ContainerContext,
): FieldError[] {
  const otherNames = new Set(others.map((container) => stringAt(container, 'name')))
  const names = new Set(otherNames)
  const why = 'cannot be set for an Ephemeral Container'
  return containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    const target = stringAt(container, 'targetContainerName')
    const errors = [
      ...commonErrors(path, container, context),
      ...imageSpaceErrors(path, container),
      ...repeatedName(path, container, names),
    ]
    if (target !== '' && !otherNames.has(target))
      errors.push(fieldErrors.notFound(`${path}.targetContainerName`, target))
    for (const name of ephemeralMayNotHave) {
      if (name === 'resources' ? Object.keys(objectAt(container, name)).length > 0 : has(container, name))
        errors.push(fieldErrors.forbidden(`${path}.${name}`, why))
    }
    for (const [at, mount] of objectsAt(container, 'volumeMounts').entries()) {
      for (const name of ['subPath', 'subPathExpr'])
        if (stringAt(mount, name) !== '')
          errors.push(fieldErrors.forbidden(fieldPath(path, 'volumeMounts', at, name), why))
    }
    return errors
  })
}

/** Checks that an image has no space context its name: templates may have it, pods may not. */
export function imageSpaceErrors(path: string, container: JsonObject): FieldError[] {
  const image = stringAt(container, 'image')
  return image.trim() === image
    ? []
    : [fieldErrors.invalid(`${path}.image`, image, 'must not have leading or trailing whitespace')]
}

function repeatedName(path: string, container: JsonObject, names: Set<string>): FieldError[] {
  const name = stringAt(container, 'name')
  if (names.has(name)) return [fieldErrors.duplicate(`${path}.name`, name)]
  names.add(name)
  return []
}

function commonErrors(path: string, container: JsonObject, context: ContainerContext): FieldError[] {
  const name = stringAt(container, 'name')
  const mounts = objectsAt(container, 'volumeMounts')
  const devices = objectsAt(container, 'volumeDevices')
  return [
    ...(name === '' ? [fieldErrors.required(`${path}.name`)] : labelName(`${path}.name`, name)),
    ...(stringAt(container, 'image') === '' ? [fieldErrors.required(`${path}.image`)] : []),
    ...oneOf(
      `${path}.terminationMessagePolicy`,
      stringAt(container, 'terminationMessagePolicy'),
      ['File', 'FallbackToLogsOnError'],
      'required',
    ),
    ...portErrors(`${path}.ports`, objectsAt(container, 'ports')),
    ...environmentErrors(`${path}.env`, objectsAt(container, 'env'), context.volumes),
    ...environmentSourceErrors(`${path}.envFrom`, objectsAt(container, 'envFrom')),
    ...mountErrors(`${path}.volumeMounts`, container, mounts, devices, context.volumes),
    ...volumeDeviceErrors(`${path}.volumeDevices`, devices, mounts, context.volumes),
    ...oneOf(
      `${path}.imagePullPolicy`,
      stringAt(container, 'imagePullPolicy'),
      ['Always', 'IfNotPresent', 'Never'],
      'required',
    ),
    ...resourceErrors(`${path}.resources`, objectAt(container, 'resources'), context.claims),
    ...resizeErrors(`${path}.resizePolicy`, objectsAt(container, 'resizePolicy'), context.restartPolicy),
    ...containerSecurityErrors(`${path}.securityContext`, container, context.hostUsers),
  ]
}

function portErrors(field: string, ports: readonly JsonObject[]): FieldError[] {
  const names = new Set<string>()
  return ports.flatMap((port, index) => {
    const path = fieldPath(field, index)
    const errors: FieldError[] = []
    const name = stringAt(port, 'name')
    if (name !== '') {
      const messages = portName(name)
      errors.push(...invalidWith(`${path}.name`, name, messages))
      if (messages.length === 0 && names.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
      names.add(name)
    }
    const number = numberAt(port, 'containerPort') ?? 0
    errors.push(
      ...(number === 0 ? [fieldErrors.required(`${path}.containerPort`)] : portNumber(`${path}.containerPort`, number)),
    )
    const hostPort = numberAt(port, 'hostPort') ?? 0
    if (hostPort !== 0) errors.push(...portNumber(`${path}.hostPort`, hostPort))
    errors.push(...oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['SCTP', 'TCP', 'UDP'], 'required'))
    return errors
  })
}

function hostPortErrors(field: string, containers: readonly JsonObject[]): FieldError[] {
  const taken = new Set<string>()
  return containers.flatMap((container, index) =>
    objectsAt(container, 'ports').flatMap((port, at) => {
      const hostPort = numberAt(port, 'hostPort') ?? 0
      if (hostPort === 0) return []
      const key = `${stringAt(port, 'protocol')}/${stringAt(port, 'hostIP')}/${hostPort}`
      if (taken.has(key)) return [fieldErrors.duplicate(fieldPath(field, index, 'ports', at, 'hostPort'), key)]
      taken.add(key)
      return []
    }),
  )
}

function resizeErrors(field: string, policies: readonly JsonObject[], restartPolicy: string): FieldError[] {
  const seen = new Set<string>()
  return policies.flatMap((policy, index) => {
    const resource = stringAt(policy, 'resourceName')
    const restart = stringAt(policy, 'restartPolicy')
    const errors = seen.has(resource) ? [fieldErrors.duplicate(fieldPath(field, index), resource)] : []
    seen.add(resource)
    errors.push(
      ...oneOf(field, resource, ['cpu', 'memory'], 'required'),
      ...oneOf(field, restart, ['NotRequired', 'RestartContainer'], 'required'),
    )
    if (restartPolicy === 'Never' && restart !== 'NotRequired')
      errors.push(fieldErrors.invalid(field, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'"))
    return errors
  })
}

function restartErrors(path: string, container: JsonObject): FieldError[] {
  const rules = objectsAt(container, 'restartPolicyRules')
  const errors: FieldError[] = []
  if (!has(container, 'restartPolicy')) {
    if (rules.length === 0) return []
    errors.push(fieldErrors.required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'))
    if (path.includes('initContainers')) return errors
  } else
    errors.push(
      ...oneOf(`${path}.restartPolicy`, stringAt(container, 'restartPolicy'), ['Always', 'Never', 'OnFailure']),
    )
  if (stringAt(container, 'restartPolicy') === 'Always' && path.includes('initContainers') && rules.length > 0) {
    return [
      fieldErrors.forbidden(
        `${path}.restartPolicyRules`,
        'restartPolicyRules are not allowed for init containers with restart policy Always',
      ),
    ]
  }
  if (rules.length > 20) errors.push(fieldErrors.tooLong(`${path}.restartPolicyRules`, 20))
  for (const [index, rule] of rules.entries()) {
    const place = fieldPath(path, 'restartPolicyRules', index)
    errors.push(...oneOf(`${place}.action`, stringAt(rule, 'action'), ['Restart']))
    if (!has(rule, 'exitCodes')) {
      errors.push(fieldErrors.required(`${place}.exitCodes`, 'must be specified'))
      continue
    }
    errors.push(...oneOf(`${place}.exitCodes.operator`, stringAt(rule, 'exitCodes', 'operator'), ['In', 'NotIn']))
    if (stringsAt(rule, 'exitCodes', 'values').length > 255)
      errors.push(fieldErrors.tooLong(`${place}.exitCodes.values`, 255))
  }
  return errors
}
