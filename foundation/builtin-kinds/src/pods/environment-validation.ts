// Validation of a container's environment, and of field and resource references, which volumes have too
// (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { configMapKey, dns1123Subdomain, fieldErrors, fieldPath, parseQuantity, qualifiedName } from '@fairlead/kube'
import { invalidWith, labelName } from '../checks.ts'
import { has, objectAt, stringAt } from '../fields.ts'
import { backstepErrors } from './paths.ts'

/** Validates `env`. */
export function environmentErrors(
  field: string,
  variables: readonly JsonObject[],
  volumes: ReadonlyMap<string, JsonObject>,
): FieldError[] {
  return variables.flatMap((variable, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(variable, 'name')
    return [
      ...(name === '' ? [fieldErrors.required(`${path}.name`)] : relaxedName(`${path}.name`, name)),
      ...(has(variable, 'valueFrom')
        ? [
            ...valueSourceErrors(`${path}.valueFrom`, objectAt(variable, 'valueFrom'), stringAt(variable, 'value')),
            ...fileVolumeErrors(`${path}.valueFrom.fileKeyRef`, objectAt(variable, 'valueFrom'), volumes),
          ]
        : []),
    ]
  })
}

/** Validates `envFrom`. */
export function environmentSourceErrors(field: string, sources: readonly JsonObject[]): FieldError[] {
  return sources.flatMap((source, index) => {
    const path = fieldPath(field, index)
    const prefix = stringAt(source, 'prefix')
    const given = ['configMapRef', 'secretRef'].filter((name) => has(source, name))
    const errors = prefix === '' ? [] : relaxedName(`${path}.prefix`, prefix)
    for (const reference of given) {
      const name = stringAt(source, reference, 'name')
      const place = `${path}.${reference}.name`
      errors.push(...(name === '' ? [fieldErrors.required(place)] : invalidWith(place, name, dns1123Subdomain(name))))
    }
    if (given.length === 0)
      errors.push(fieldErrors.invalid(field, '', 'must specify one of: `configMapRef` or `secretRef`'))
    if (given.length > 1)
      errors.push(fieldErrors.invalid(field, '', 'may not have more than one field specified at a time'))
    return errors
  })
}

/** Validates the relaxed form of variable names: printable ASCII except `=`. */
function relaxedName(field: string, name: string): FieldError[] {
  return /^[ -<>-~]+$/.test(name)
    ? []
    : [
        fieldErrors.invalid(
          field,
          name,
          "a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
      ]
}

const variableFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]

function valueSourceErrors(path: string, source: JsonObject, value: string): FieldError[] {
  const errors: FieldError[] = []
  const at = (name: string): string => `${path}.${name}`
  if (has(source, 'fieldRef'))
    errors.push(...fieldReferenceErrors(at('fieldRef'), objectAt(source, 'fieldRef'), variableFields))
  if (has(source, 'resourceFieldRef'))
    errors.push(...resourceReferenceErrors(at('resourceFieldRef'), objectAt(source, 'resourceFieldRef'), false))
  for (const name of ['configMapKeyRef', 'secretKeyRef'])
    if (has(source, name)) errors.push(...keyReferenceErrors(at(name), objectAt(source, name)))
  if (has(source, 'fileKeyRef')) errors.push(...fileReferenceErrors(at('fileKeyRef'), objectAt(source, 'fileKeyRef')))
  const count = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'].filter((name) =>
    has(source, name),
  ).length
  if (count === 0) {
    errors.push(
      fieldErrors.invalid(
        path,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ),
    )
  } else if (value !== '') {
    errors.push(fieldErrors.invalid(path, '', 'may not be specified when `value` is not empty'))
  } else if (count > 1) {
    errors.push(fieldErrors.invalid(path, '', 'may not have more than one field specified at a time'))
  }
  return errors
}

/** Checks that the file of a variable is in an emptyDir of the pod. */
function fileVolumeErrors(path: string, source: JsonObject, volumes: ReadonlyMap<string, JsonObject>): FieldError[] {
  if (!has(source, 'fileKeyRef')) return []
  const name = stringAt(source, 'fileKeyRef', 'volumeName')
  return volumes.has(name) ? [] : [fieldErrors.notFound(`${path}.volumeName`, name)]
}

function keyReferenceErrors(path: string, reference: JsonObject): FieldError[] {
  const name = stringAt(reference, 'name')
  const key = stringAt(reference, 'key')
  return [
    ...invalidWith(`${path}.name`, name, dns1123Subdomain(name)),
    ...(key === '' ? [fieldErrors.required(`${path}.key`)] : invalidWith(`${path}.key`, key, configMapKey(key))),
  ]
}

function fileReferenceErrors(path: string, reference: JsonObject): FieldError[] {
  const key = stringAt(reference, 'key')
  const volume = stringAt(reference, 'volumeName')
  const file = stringAt(reference, 'path')
  return [
    ...(key === '' ? [fieldErrors.required(`${path}.key`)] : relaxedName(`${path}.key`, key)),
    ...(volume === '' ? [fieldErrors.required(`${path}.volumeName`)] : labelName(`${path}.volumeName`, volume)),
    ...(file === '' ? [fieldErrors.required(`${path}.path`)] : backstepErrors(`${path}.path`, file)),
  ]
}

/** The fields that references in `env` and volumes both support. */
const knownFields = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
  'spec.host',
])

/** Validates a reference to a field of the pod: one of `choices`, or a label or annotation by its key. */
export function fieldReferenceErrors(path: string, reference: JsonObject, choices: readonly string[]): FieldError[] {
  const version = stringAt(reference, 'apiVersion')
  const given = stringAt(reference, 'fieldPath')
  if (version === '') return [fieldErrors.required(`${path}.apiVersion`)]
  if (given === '') return [fieldErrors.required(`${path}.fieldPath`)]
  const cannotConvert = (why: string): FieldError[] => [
    fieldErrors.invalid(`${path}.fieldPath`, given, `error converting fieldPath: ${why}`),
  ]
  if (version !== 'v1') return cannotConvert(`unsupported pod version: ${version}`)
  const [, base, key] = /^(.*)\['(.*)'\]$/.exec(given) ?? []
  if (base !== undefined && key !== undefined) {
    if (base === 'metadata.annotations') return invalidWith(path, key.toLowerCase(), qualifiedName(key.toLowerCase()))
    if (base === 'metadata.labels') return invalidWith(path, key, qualifiedName(key))
    return cannotConvert(`field label does not support subscript: ${given}`)
  }
  if (!knownFields.has(given)) return cannotConvert(`field label not supported: ${given}`)
  const name = given === 'spec.host' ? 'spec.nodeName' : given
  return choices.includes(name) ? [] : [fieldErrors.notSupported(`${path}.fieldPath`, name, choices)]
}

const resources = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']

/** Validates a reference to a limit or request; volumes must name the container. */
export function resourceReferenceErrors(path: string, reference: JsonObject, inVolume: boolean): FieldError[] {
  const resource = stringAt(reference, 'resource')
  const errors: FieldError[] = []
  if (inVolume && stringAt(reference, 'containerName') === '')
    errors.push(fieldErrors.required(`${path}.containerName`))
  else if (resource === '') errors.push(fieldErrors.required(`${path}.resource`))
  else if (!resources.includes(resource) && !isHugePages(resource))
    errors.push(fieldErrors.notSupported(`${path}.resource`, resource, resources))
  const divisor = stringAt(reference, 'divisor')
  if (divisor === '' || parseQuantity(divisor).nanos === 0n) return errors
  const [allowed, kind] = divisorsOf(resource)
  if (allowed.length > 0 && !allowed.includes(divisor)) {
    errors.push(
      fieldErrors.invalid(
        `${path}.divisor`,
        resource,
        kind === 'cpu'
          ? "only divisor's values 1m and 1 are supported with the cpu resource"
          : `only divisor's values ${allowed.join(', ')} are supported with the ${kind} resource`,
      ),
    )
  }
  return errors
}

function isHugePages(resource: string): boolean {
  return /^(limits|requests)\.hugepages-/.test(resource)
}

function divisorsOf(resource: string): [readonly string[], string] {
  if (isHugePages(resource)) return [byteDivisors, 'hugepages']
  switch (resource.replace(/^(limits|requests)\./, '')) {
    case 'cpu':
      return [['1m', '1'], 'cpu']
    case 'memory':
      return [byteDivisors, 'memory']
    case 'ephemeral-storage':
      return [byteDivisors, 'local ephemeral storage']
    default:
      return [[], '']
  }
}
