// Checks of containers: names, images, ports, environment, mounts, probes, resources (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { compareQuantities, fieldErrors, fieldPath, parseQuantity, portName } from '@fairlead/kube'
import { invalidWith, labelName, nonNegative, oneOf, portNumber, portNumberOrName, positive } from '../checks.ts'
import { has, mapAt, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'

/** Checks the containers of one list. `volumes` are the names that mounts may use. */
export function containerErrors(
  field: string,
  containers: readonly JsonObject[],
  volumes: ReadonlySet<string>,
): FieldError[] {
  const names = new Set<string>()
  return containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(container, 'name')
    const errors = commonErrors(path, container, volumes)
    if (names.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
    names.add(name)
    for (const [probe, onlyOnce] of [
      ['livenessProbe', true],
      ['readinessProbe', false],
      ['startupProbe', true],
    ] as const) {
      if (has(container, probe)) errors.push(...probeErrors(`${path}.${probe}`, objectAt(container, probe), onlyOnce))
    }
    return errors
  })
}

function commonErrors(path: string, container: JsonObject, volumes: ReadonlySet<string>): FieldError[] {
  const name = stringAt(container, 'name')
  const image = stringAt(container, 'image')
  return [
    ...(name === '' ? [fieldErrors.required(`${path}.name`)] : labelName(`${path}.name`, name)),
    ...(image === '' ? [fieldErrors.required(`${path}.image`)] : []),
    ...oneOf(
      `${path}.terminationMessagePolicy`,
      stringAt(container, 'terminationMessagePolicy'),
      ['File', 'FallbackToLogsOnError'],
      'required',
    ),
    ...portErrors(`${path}.ports`, objectsAt(container, 'ports')),
    ...environmentErrors(`${path}.env`, objectsAt(container, 'env')),
    ...environmentSourceErrors(`${path}.envFrom`, objectsAt(container, 'envFrom')),
    ...mountErrors(`${path}.volumeMounts`, objectsAt(container, 'volumeMounts'), volumes),
    ...oneOf(
      `${path}.imagePullPolicy`,
      stringAt(container, 'imagePullPolicy'),
      ['Always', 'IfNotPresent', 'Never'],
      'required',
    ),
    ...resourceErrors(`${path}.resources`, objectAt(container, 'resources')),
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
    errors.push(...oneOf(`${path}.protocol`, stringAt(port, 'protocol'), ['TCP', 'UDP', 'SCTP'], 'required'))
    return errors
  })
}

const valueSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']

function environmentErrors(field: string, variables: readonly JsonObject[]): FieldError[] {
  return variables.flatMap((variable, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(variable, 'name')
    const errors: FieldError[] = []
    if (name === '') errors.push(fieldErrors.required(`${path}.name`))
    else if (!/^[ -<>-~]+$/.test(name)) {
      errors.push(
        fieldErrors.invalid(
          `${path}.name`,
          name,
          "a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
      )
    }
    if (has(variable, 'valueFrom'))
      errors.push(
        ...valueSourceErrors(`${path}.valueFrom`, objectAt(variable, 'valueFrom'), stringAt(variable, 'value')),
      )
    return errors
  })
}

function valueSourceErrors(path: string, source: JsonObject, value: string): FieldError[] {
  const errors: FieldError[] = []
  const given = valueSources.filter((name) => has(source, name))
  for (const name of ['configMapKeyRef', 'secretKeyRef'].filter((candidate) => has(source, candidate))) {
    if (stringAt(source, name, 'name') === '') errors.push(fieldErrors.required(`${path}.${name}.name`))
    if (stringAt(source, name, 'key') === '') errors.push(fieldErrors.required(`${path}.${name}.key`))
  }
  if (has(source, 'fieldRef') && stringAt(source, 'fieldRef', 'fieldPath') === '')
    errors.push(fieldErrors.required(`${path}.fieldRef.fieldPath`))
  if (has(source, 'resourceFieldRef') && stringAt(source, 'resourceFieldRef', 'resource') === '') {
    errors.push(fieldErrors.required(`${path}.resourceFieldRef.resource`))
  }
  if (given.length === 0) {
    errors.push(
      fieldErrors.invalid(
        path,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ),
    )
  } else if (value !== '') {
    errors.push(fieldErrors.invalid(path, '', 'may not be specified when `value` is not empty'))
  }
  if (given.length > 1)
    errors.push(fieldErrors.invalid(path, '', 'may not have more than one field specified at a time'))
  return errors
}

function environmentSourceErrors(field: string, sources: readonly JsonObject[]): FieldError[] {
  return sources.flatMap((source, index) => {
    const path = fieldPath(field, index)
    const given = ['configMapRef', 'secretRef'].filter((name) => has(source, name))
    const errors = given
      .filter((name) => stringAt(source, name, 'name') === '')
      .map((name) => fieldErrors.required(`${path}.${name}.name`))
    if (given.length === 0)
      errors.push(fieldErrors.invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'))
    if (given.length > 1)
      errors.push(fieldErrors.invalid(path, '', 'may not have more than one field specified at a time'))
    return errors
  })
}

function mountErrors(field: string, mounts: readonly JsonObject[], volumes: ReadonlySet<string>): FieldError[] {
  const paths = new Set<string>()
  return mounts.flatMap((mount, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(mount, 'name')
    const mountPath = stringAt(mount, 'mountPath')
    const errors: FieldError[] = []
    if (name === '') errors.push(fieldErrors.required(`${path}.name`))
    else if (!volumes.has(name)) errors.push(fieldErrors.notFound(`${path}.name`, name))
    if (mountPath === '') errors.push(fieldErrors.required(`${path}.mountPath`))
    if (paths.has(mountPath)) errors.push(fieldErrors.invalid(`${path}.mountPath`, mountPath, 'must be unique'))
    paths.add(mountPath)
    return errors
  })
}

function resourceErrors(path: string, resources: JsonObject): FieldError[] {
  const limits = mapAt(resources, 'limits')
  const requests = mapAt(resources, 'requests')
  const negative = (field: string, amounts: Readonly<Record<string, string>>): FieldError[] =>
    Object.entries(amounts)
      .filter(([, amount]) => amount.startsWith('-'))
      .map(([name, amount]) =>
        fieldErrors.invalid(fieldPath(field, { key: name }), amount, 'must be greater than or equal to 0'),
      )
  const tooMuch = Object.entries(requests).flatMap(([name, request]) => {
    const limit = limits[name]
    if (limit === undefined || compareQuantities(parseQuantity(request), parseQuantity(limit)) <= 0) return []
    return [fieldErrors.invalid(`${path}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`)]
  })
  return [...negative(`${path}.limits`, limits), ...negative(`${path}.requests`, requests), ...tooMuch]
}

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc']

function probeErrors(path: string, probe: JsonObject, onlyOnce: boolean): FieldError[] {
  const given = handlers.filter((name) => has(probe, name))
  const errors: FieldError[] = given.flatMap((name, index) =>
    index === 0
      ? handlerErrors(`${path}.${name}`, name, objectAt(probe, name))
      : [fieldErrors.forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')],
  )
  if (given.length === 0) errors.push(fieldErrors.required(path, 'must specify a handler type'))
  for (const field of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ]) {
    errors.push(...nonNegative(`${path}.${field}`, numberAt(probe, field)))
  }
  errors.push(...positive(`${path}.terminationGracePeriodSeconds`, numberAt(probe, 'terminationGracePeriodSeconds')))
  const successes = numberAt(probe, 'successThreshold') ?? 0
  if (onlyOnce && successes !== 1) errors.push(fieldErrors.invalid(`${path}.successThreshold`, successes, 'must be 1'))
  return errors
}

function handlerErrors(path: string, name: string, handler: JsonObject): FieldError[] {
  switch (name) {
    case 'exec':
      return has(handler, 'command') ? [] : [fieldErrors.required(`${path}.command`)]
    case 'httpGet':
      return [
        ...(stringAt(handler, 'path') === '' ? [fieldErrors.required(`${path}.path`)] : []),
        ...portNumberOrName(`${path}.port`, handler['port'] ?? 0),
        ...oneOf(`${path}.scheme`, stringAt(handler, 'scheme'), ['HTTP', 'HTTPS']),
      ]
    case 'tcpSocket':
      return portNumberOrName(`${path}.port`, handler['port'] ?? 0)
    default:
      return portNumber(`${path}.port`, numberAt(handler, 'port') ?? 0)
  }
}
