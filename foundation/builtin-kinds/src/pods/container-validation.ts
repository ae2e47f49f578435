// Checks of containers: regular ones, those of initialisation, and ephemeral ones (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, portName } from '@fairlead/kube'
import { invalidWith, labelName, oneOf, portNumber } from '../checks.ts'
import { has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { environmentErrors, environmentSourceErrors } from './environment-validation.ts'
import { mountErrors, volumeDeviceErrors } from './mount-validation.ts'
import type { ProbeSurroundings } from './probe-validation.ts'
import { lifecycleAndProbeErrors } from './probe-validation.ts'
import { resourceErrors } from './resource-validation.ts'
import { containerSecurityErrors } from './security-validation.ts'

/** What a container's checks need to know of its pod. */
export interface Surroundings extends ProbeSurroundings {
  readonly volumes: ReadonlyMap<string, JsonObject>
  readonly claims: ReadonlySet<string>
  readonly restartPolicy: string
  /** The pod shares the users of its node. */
  readonly hostUsers: boolean
}

/** Checks `containers`. */
export function containerErrors(field: string, containers: readonly JsonObject[], around: Surroundings): FieldError[] {
  if (containers.length === 0) return [fieldErrors.required(field)]
  const names = new Set<string>()
  const errors = containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    return [
      ...commonErrors(path, container, around),
      ...repeatedName(path, container, names),
      ...lifecycleAndProbeErrors(path, container, around),
      ...restartErrors(path, container),
    ]
  })
  return [...errors, ...hostPortErrors(field, containers)]
}

/** Checks `initContainers`; those that restart always run beside the regular ones and may have probes. */
export function initContainerErrors(
  field: string,
  containers: readonly JsonObject[],
  regular: readonly JsonObject[],
  around: Surroundings,
): FieldError[] {
  const names = new Set(regular.map((container) => stringAt(container, 'name')))
  return containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    const errors = [
      ...commonErrors(path, container, around),
      ...restartErrors(path, container),
      ...repeatedName(path, container, names),
      ...hostPortErrors(field, [container]),
    ]
    if (stringAt(container, 'restartPolicy') === 'Always')
      return [...errors, ...lifecycleAndProbeErrors(path, container, around)]
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

/** Checks `ephemeralContainers`. */
export function ephemeralContainerErrors(
  field: string,
  containers: readonly JsonObject[],
  others: readonly JsonObject[],
  around: Surroundings,
): FieldError[] {
  const otherNames = new Set(others.map((container) => stringAt(container, 'name')))
  const names = new Set(otherNames)
  const why = 'cannot be set for an Ephemeral Container'
  return containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    const target = stringAt(container, 'targetContainerName')
    const errors = [
      ...commonErrors(path, container, around),
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

/** An image's name with space around it: templates may have it, pods may not. */
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

function commonErrors(path: string, container: JsonObject, around: Surroundings): FieldError[] {
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
    ...environmentErrors(`${path}.env`, objectsAt(container, 'env')),
    ...environmentSourceErrors(`${path}.envFrom`, objectsAt(container, 'envFrom')),
    ...mountErrors(`${path}.volumeMounts`, container, mounts, devices, around.volumes),
    ...volumeDeviceErrors(`${path}.volumeDevices`, devices, mounts, around.volumes),
    ...oneOf(
      `${path}.imagePullPolicy`,
      stringAt(container, 'imagePullPolicy'),
      ['Always', 'IfNotPresent', 'Never'],
      'required',
    ),
    ...resourceErrors(`${path}.resources`, objectAt(container, 'resources'), around.claims),
    ...resizeErrors(`${path}.resizePolicy`, objectsAt(container, 'resizePolicy'), around.restartPolicy),
    ...containerSecurityErrors(`${path}.securityContext`, container, around.hostUsers),
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
