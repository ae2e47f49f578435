// Checks of a pod's spec, alone or in a template (pkg/apis/core/validation, v1.35): what kubectl users run into, not every volume plugin.
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import { invalidWith, labelErrors, labelName, oneOf, subdomainName } from '../checks.ts'
import { has, mapAt, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { containerErrors } from './container-validation.ts'

/** Checks a PodSpec. `path` is `spec` or `spec.template.spec`. */
export function podSpecErrors(path: string, spec: JsonObject): FieldError[] {
  const volumes = objectsAt(spec, 'volumes')
  const names = new Set(volumes.map((volume) => stringAt(volume, 'name')))
  const containers = objectsAt(spec, 'containers')
  return [
    ...volumeErrors(`${path}.volumes`, volumes),
    ...(containers.length === 0
      ? [fieldErrors.required(`${path}.containers`)]
      : containerErrors(`${path}.containers`, containers, names)),
    ...initContainerErrors(`${path}.initContainers`, spec, names),
    ...oneOf(`${path}.restartPolicy`, stringAt(spec, 'restartPolicy'), ['Always', 'OnFailure', 'Never'], 'required'),
    ...oneOf(
      `${path}.dnsPolicy`,
      stringAt(spec, 'dnsPolicy'),
      ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'],
      'required',
    ),
    ...labelErrors(`${path}.nodeSelector`, mapAt(spec, 'nodeSelector')),
    ...securityContextErrors(`${path}.securityContext`, objectAt(spec, 'securityContext')),
    ...named(`${path}.serviceAccountName`, stringAt(spec, 'serviceAccountName')),
    ...named(`${path}.nodeName`, stringAt(spec, 'nodeName')),
    ...deadlineErrors(`${path}.activeDeadlineSeconds`, numberAt(spec, 'activeDeadlineSeconds')),
    ...(stringAt(spec, 'hostname') === '' ? [] : labelName(`${path}.hostname`, stringAt(spec, 'hostname'))),
    ...(stringAt(spec, 'subdomain') === '' ? [] : labelName(`${path}.subdomain`, stringAt(spec, 'subdomain'))),
    ...tolerationErrors(`${path}.tolerations`, objectsAt(spec, 'tolerations')),
    ...named(`${path}.priorityClassName`, stringAt(spec, 'priorityClassName')),
    ...named(`${path}.runtimeClassName`, stringAt(spec, 'runtimeClassName')),
  ]
}

function named(field: string, name: string): FieldError[] {
  return name === '' ? [] : subdomainName(field, name)
}

function initContainerErrors(path: string, spec: JsonObject, volumes: ReadonlySet<string>): FieldError[] {
  const regular = new Set(objectsAt(spec, 'containers').map((container) => stringAt(container, 'name')))
  const containers = objectsAt(spec, 'initContainers')
  const errors = containerErrors(path, containers, volumes)
  for (const [index, container] of containers.entries()) {
    const name = stringAt(container, 'name')
    if (name !== '' && regular.has(name)) errors.push(fieldErrors.duplicate(fieldPath(path, index, 'name'), name))
    if (stringAt(container, 'restartPolicy') === 'Always') continue
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
      if (has(container, field))
        errors.push(
          fieldErrors.forbidden(
            fieldPath(path, index, field),
            'may not be set for init containers without restartPolicy=Always',
          ),
        )
    }
  }
  return errors
}

function volumeErrors(field: string, volumes: readonly JsonObject[]): FieldError[] {
  const names = new Set<string>()
  return volumes.flatMap((volume, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(volume, 'name')
    const errors = volumeSourceErrors(path, volume)
    if (name === '') errors.push(fieldErrors.required(`${path}.name`))
    else errors.push(...labelName(`${path}.name`, name))
    if (names.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
    names.add(name)
    return errors
  })
}

/** The field of each volume source that has to be given. */
const requiredOfSource: Readonly<Record<string, string>> = {
  hostPath: 'path',
  secret: 'secretName',
  configMap: 'name',
  persistentVolumeClaim: 'claimName',
  csi: 'driver',
  nfs: 'server',
}

function volumeSourceErrors(path: string, volume: JsonObject): FieldError[] {
  const sources = Object.keys(volume).filter((field) => field !== 'name' && has(volume, field))
  return sources.flatMap((source, index) => {
    if (index > 0) return [fieldErrors.forbidden(`${path}.${source}`, 'may not specify more than 1 volume type')]
    const required = requiredOfSource[source]
    const errors: FieldError[] =
      required !== undefined && stringAt(volume, source, required) === ''
        ? [fieldErrors.required(`${path}.${source}.${required}`)]
        : []
    const mode = numberAt(volume, source, 'defaultMode')
    if (mode !== undefined && (mode < 0 || mode > 0o777)) {
      errors.push(
        fieldErrors.invalid(
          `${path}.${source}.defaultMode`,
          mode,
          'must be a number between 0 and 0777 (octal), both inclusive',
        ),
      )
    }
    return errors
  })
}

function securityContextErrors(path: string, context: JsonObject): FieldError[] {
  return ['runAsUser', 'runAsGroup', 'fsGroup'].flatMap((field) => {
    const id = numberAt(context, field)
    return id !== undefined && (id < 0 || id > 2147483647)
      ? [fieldErrors.invalid(`${path}.${field}`, id, 'must be between 0 and 2147483647, inclusive')]
      : []
  })
}

function deadlineErrors(field: string, seconds: number | undefined): FieldError[] {
  return seconds !== undefined && (seconds < 1 || seconds > 2147483647)
    ? [fieldErrors.invalid(field, seconds, 'must be between 1 and 2147483647, inclusive')]
    : []
}

function tolerationErrors(field: string, tolerations: readonly JsonObject[]): FieldError[] {
  return tolerations.flatMap((toleration, index) => {
    const path = fieldPath(field, index)
    const key = stringAt(toleration, 'key')
    const operator = stringAt(toleration, 'operator')
    const errors: FieldError[] = key === '' ? [] : invalidWith(`${path}.key`, key, qualifiedName(key))
    if (key === '' && operator !== 'Exists')
      errors.push(
        fieldErrors.invalid(
          `${path}.operator`,
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      )
    if (has(toleration, 'tolerationSeconds') && stringAt(toleration, 'effect') !== 'NoExecute') {
      errors.push(
        fieldErrors.invalid(
          `${path}.effect`,
          stringAt(toleration, 'effect'),
          "effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
      )
    }
    if (operator === 'Exists' && stringAt(toleration, 'value') !== '') {
      errors.push(fieldErrors.invalid(`${path}.operator`, key, "value must be empty when `operator` is 'Exists'"))
    }
    if (!['', 'Equal', 'Exists'].includes(operator))
      errors.push(fieldErrors.notSupported(`${path}.operator`, operator, ['Equal', 'Exists']))
    errors.push(
      ...oneOf(
        `${path}.effect`,
        stringAt(toleration, 'effect'),
        ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
        'fine',
      ),
    )
    return errors
  })
}
