// Enablement of an action for a resource: by a label, an annotation, or a CEL expression over the resource.
import { isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { CelBudgetError, CelCompileError, CelError, compile, types } from '@fairlead/kube/cel'
import type { CelProgram } from '@fairlead/kube/cel'

/** An action is shown, or is not for a reason. */
export interface Enablement {
  readonly isShown: boolean
  /** For users: `the resource lacks the label "stack"`. Absent when shown. */
  readonly reason?: string
}

const shown: Enablement = { isShown: true }

/**
 * Returns the enablement of an action in menus. The presence of `enablement-label` or `enablement-annotation` suffices,
 * with any value; `enablement-expression` (CEL over `resource`) must be true as well; `menu-item: false` hides the
 * action.
 */
export function enablementOf(fields: JsonObject, resource: Pick<KubeObject, 'metadata'> | JsonObject): Enablement {
  const item = ownValue(fields, 'menu-item')
  if (item === false || item === 'false') return { isShown: false, reason: 'menu-item is false in its map' }
  return availabilityOf(fields, resource)
}

/** Returns the enablement of an action requested by name: as {@link enablementOf}, but `menu-item` is ignored. */
export function availabilityOf(fields: JsonObject, resource: Pick<KubeObject, 'metadata'> | JsonObject): Enablement {
  const label = nameIn(fields, 'enablement-label')
  const annotation = nameIn(fields, 'enablement-annotation')
  const has = (part: 'labels' | 'annotations', name: string | undefined): boolean =>
    name !== undefined && hasKey(resource, part, name)
  if ((label !== undefined || annotation !== undefined) && !has('labels', label) && !has('annotations', annotation)) {
    const wanted = [
      label === undefined ? [] : `the label "${label}"`,
      annotation === undefined ? [] : `the annotation "${annotation}"`,
    ].flat()
    return { isShown: false, reason: `the resource lacks ${wanted.join(' and ')}` }
  }
  const expression = ownValue(fields, 'enablement-expression')
  return expression === undefined ? shown : evaluate(expression, resource as JsonObject)
}

/** Returns the error message of an `enablement-expression`, or undefined when it compiles. */
export function expressionProblem(expression: JsonValue): string | undefined {
  const program = programOf(expression)
  return typeof program === 'string' ? program : undefined
}

/** Cache of compiled expressions, and of the error messages of those that do not compile. */
const programs = new Map<string, CelProgram | string>()
const maxPrograms = 1000

function programOf(expression: JsonValue): CelProgram | string {
  if (typeof expression !== 'string') return 'enablement-expression must be a string'
  const known = programs.get(expression)
  if (known !== undefined) return known
  let program: CelProgram | string
  try {
    program = compile(expression, { variables: { resource: types.dyn } }, types.bool)
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    program = `enablement-expression: ${error.message}`
  }
  if (programs.size >= maxPrograms) programs.clear()
  programs.set(expression, program)
  return program
}

function evaluate(expression: JsonValue, resource: JsonObject): Enablement {
  const program = programOf(expression)
  if (typeof program === 'string') return { isShown: false, reason: program }
  try {
    return program.evaluate({ resource }) === true
      ? shown
      : { isShown: false, reason: `its enablement-expression is false: ${expression as string}` }
  } catch (error) {
    if (!(error instanceof CelError) && !(error instanceof CelBudgetError)) throw error
    return { isShown: false, reason: `its enablement-expression failed: ${error.message}` }
  }
}

function nameIn(fields: JsonObject, key: string): string | undefined {
  const value = ownValue(fields, key)
  return typeof value === 'string' && value !== '' ? value : undefined
}

function hasKey(
  resource: Pick<KubeObject, 'metadata'> | JsonObject,
  part: 'labels' | 'annotations',
  name: string,
): boolean {
  const { metadata } = resource
  const values = isJsonObject(metadata) ? ownValue(metadata as JsonObject, part) : undefined
  return isJsonObject(values) && Object.hasOwn(values, name)
}
