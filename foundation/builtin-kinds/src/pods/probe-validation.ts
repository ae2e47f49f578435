// Validation of probes and lifecycle hooks (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, portName } from '@fairlead/kube'
import { invalidWith, nonNegative, oneOf, portNumber, portNumberOrName } from '../checks.ts'
import { has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'

/** The fields of the pod that the validation of hooks and probes reads. */
export interface ProbeContext {
  /** terminationGracePeriodSeconds of the pod. */
  readonly gracePeriod: number | undefined
}

/** Validates `lifecycle` and the three probes of a container. */
export function lifecycleAndProbeErrors(path: string, container: JsonObject, around: ProbeContext): FieldError[] {
  const errors: FieldError[] = []
  if (has(container, 'lifecycle'))
    errors.push(...lifecycleErrors(`${path}.lifecycle`, objectAt(container, 'lifecycle'), around))
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    if (!has(container, name)) continue
    const probe = objectAt(container, name)
    errors.push(...probeErrors(`${path}.${name}`, probe, around))
    if (name === 'readinessProbe') {
      if (has(probe, 'terminationGracePeriodSeconds')) {
        errors.push(
          fieldErrors.invalid(
            `${path}.${name}.terminationGracePeriodSeconds`,
            probe['terminationGracePeriodSeconds'],
            'must not be set for readinessProbes',
          ),
        )
      }
    } else if (numberAt(probe, 'successThreshold') !== 1) {
      errors.push(
        fieldErrors.invalid(`${path}.${name}.successThreshold`, numberAt(probe, 'successThreshold') ?? 0, 'must be 1'),
      )
    }
  }
  return errors
}

const probeHandlers = ['exec', 'httpGet', 'tcpSocket', 'grpc']
const hookHandlers = ['exec', 'httpGet', 'tcpSocket', 'sleep']
const counters = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold']

function probeErrors(path: string, probe: JsonObject, around: ProbeContext): FieldError[] {
  const grace = numberAt(probe, 'terminationGracePeriodSeconds')
  return [
    ...oneHandler(path, probe, probeHandlers, around),
    ...counters.flatMap((field) => nonNegative(`${path}.${field}`, numberAt(probe, field))),
    ...(grace !== undefined && grace <= 0
      ? [fieldErrors.invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0')]
      : []),
  ]
}

function lifecycleErrors(path: string, lifecycle: JsonObject, around: ProbeContext): FieldError[] {
  return ['postStart', 'preStop']
    .filter((hook) => has(lifecycle, hook))
    .flatMap((hook) => oneHandler(`${path}.${hook}`, objectAt(lifecycle, hook), hookHandlers, around))
}

function oneHandler(path: string, owner: JsonObject, handlers: readonly string[], around: ProbeContext): FieldError[] {
  const given = handlers.filter((name) => has(owner, name))
  if (given.length === 0) return [fieldErrors.required(path, 'must specify a handler type')]
  return given.flatMap((name, index) =>
    index === 0
      ? handlerErrors(`${path}.${name}`, name, objectAt(owner, name), around)
      : [fieldErrors.forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')],
  )
}

function handlerErrors(path: string, name: string, handler: JsonObject, around: ProbeContext): FieldError[] {
  switch (name) {
    case 'exec':
      return stringsAt(handler, 'command').length === 0 ? [fieldErrors.required(`${path}.command`)] : []
    case 'httpGet':
      return [
        ...(stringAt(handler, 'path') === '' ? [fieldErrors.required(`${path}.path`)] : []),
        ...portErrors(`${path}.port`, handler),
        ...oneOf(`${path}.scheme`, stringAt(handler, 'scheme'), ['HTTP', 'HTTPS']),
        ...objectsAt(handler, 'httpHeaders').flatMap((header) =>
          headerNameErrors(`${path}.httpHeaders`, stringAt(header, 'name')),
        ),
      ]
    case 'tcpSocket':
      return portErrors(`${path}.port`, handler)
    case 'sleep':
      return sleepErrors(path, numberAt(handler, 'seconds') ?? 0, around.gracePeriod)
    default:
      return portNumber(`${path}.port`, numberAt(handler, 'port') ?? 0)
  }
}

function portErrors(field: string, handler: JsonObject): FieldError[] {
  const port = handler['port'] ?? 0
  return typeof port === 'string' ? invalidWith(field, port, portName(port)) : portNumberOrName(field, port)
}

function headerNameErrors(field: string, name: string): FieldError[] {
  return /^[-A-Za-z0-9]+$/.test(name)
    ? []
    : [
        fieldErrors.invalid(
          field,
          name,
          "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
        ),
      ]
}

function sleepErrors(field: string, seconds: number, gracePeriod: number | undefined): FieldError[] {
  if (gracePeriod === undefined || (seconds >= 0 && seconds <= gracePeriod)) return []
  return [
    fieldErrors.invalid(
      field,
      seconds,
      `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`,
    ),
  ]
}
