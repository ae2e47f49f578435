// Validation of the scale subresource of custom resources: the values at its paths must be usable as replicas and
// selector.
import type { DefinitionSubresources, FieldError, JsonObject, JsonValue } from '@fairlead/kube'
import { fieldErrors, formatGoValue, isJsonObject, ownValue } from '@fairlead/kube'

/** `subresources.scale` of a version. */
export type ScalePaths = NonNullable<DefinitionSubresources['scale']>

const maxReplicas = 2 ** 31 - 1

/** Returns the errors of the replicas in the spec. */
export function validateScaleSpec(object: JsonObject, scale: ScalePaths): FieldError[] {
  return checkReplicas(object, scale.specReplicasPath ?? '')
}

/** Returns the errors of the replicas and the selector in the status. */
export function validateScaleStatus(object: JsonObject, scale: ScalePaths): FieldError[] {
  const errors = checkReplicas(object, scale.statusReplicasPath ?? '')
  const { labelSelectorPath } = scale
  if (labelSelectorPath === undefined) return errors
  const problem = typeProblem(object, labelSelectorPath, 'string', (value) => typeof value === 'string')
  return problem === undefined ? errors : [...errors, fieldErrors.invalid(labelSelectorPath, '', problem)]
}

function checkReplicas(object: JsonObject, path: string): FieldError[] {
  const problem = typeProblem(object, path, 'int64', (value) => typeof value === 'bigint' || Number.isInteger(value))
  if (problem !== undefined) return [fieldErrors.invalid(path, 0, problem)]
  const replicas = valueAt(object, path)
  if (typeof replicas !== 'number' && typeof replicas !== 'bigint') return []
  if (replicas < 0) return [fieldErrors.invalid(path, replicas, 'should be a non-negative integer')]
  return replicas > maxReplicas
    ? [fieldErrors.invalid(path, replicas, `should be less than or equal to ${maxReplicas}`)]
    : []
}

/**
 * Returns the type error of the value at a path, in the words of apimachinery's unstructured accessors; a missing value
 * is valid.
 */
function typeProblem(
  object: JsonObject,
  path: string,
  type: string,
  fits: (value: JsonValue) => boolean,
): string | undefined {
  const names = namesIn(path)
  let current: JsonValue = object
  for (const [index, name] of names.entries()) {
    if (current === null) return undefined
    if (!isJsonObject(current)) {
      const at = `.${names.slice(0, index).join('.')}`
      return `${at} accessor error: ${formatGoValue(current)} is of the type ${goTypeOf(current)}, expected map[string]interface{}`
    }
    const next = ownValue(current, name)
    if (next === undefined) return undefined
    current = next
  }
  if (fits(current)) return undefined
  return `.${names.join('.')} accessor error: ${formatGoValue(current)} is of the type ${goTypeOf(current)}, expected ${type}`
}

function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  let current: JsonValue | undefined = object
  for (const name of namesIn(path)) current = isJsonObject(current) ? ownValue(current, name) : undefined
  return current
}

function namesIn(path: string): string[] {
  return path.replace(/^\./, '').split('.')
}

function goTypeOf(value: JsonValue): string {
  if (value === null) return '<nil>'
  if (typeof value === 'object') return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return typeof value === 'bigint' ? 'int64' : typeof value === 'boolean' ? 'bool' : 'string'
}
