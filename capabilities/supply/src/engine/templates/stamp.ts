// Stamping: renders the object of a template for an owner (originals/cartographer.md §2.5).
import { createHash } from 'node:crypto'
import { asObject, cloneJson, isJsonObject, longLabelValue, sortKeys, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { CelBudgetError, CelCompileError, CelError, ProgramCache, formatType, toJson, types } from '@fairlead/kube/cel'
import type { Blueprint, OwnerKind, Template, TemplateSpec } from '../../api.ts'
import { contextNames, unsetVariables } from './context.ts'
import { InterpolationError, interpolate } from './interpolation.ts'

/**
 * A template that cannot be rendered to a valid object. `isTransient` when rendering failed for a reason that is not in
 * the template, such as a busy machine.
 */
export class StampError extends Error {
  override readonly name = 'StampError'
  readonly code = 'StampFailed'
  readonly isTransient: boolean

  constructor(message: string, options: { readonly cause?: unknown; readonly isTransient?: boolean } = {}) {
    super(message, { cause: options.cause })
    this.isTransient = options.isTransient ?? false
  }
}

/** Keys of the labels of stamped objects. */
export const stampLabel = {
  resource: 'carto.run/resource-name',
  templateKind: 'carto.run/template-kind',
  templateName: 'carto.run/cluster-template-name',
  lifecycle: 'carto.run/template-lifecycle',
  runnable: 'carto.run/runnable-name',
  runTemplate: 'carto.run/run-template-name',
  /** Digest of the desired object, on runs: the controller reads from the cluster whether a run exists. */
  digest: 'carto.run/stamp-digest',
} as const

/** Returns the key of the label with the owner's name; every stamped object has it. */
export function ownerLabel(kind: OwnerKind | 'Runnable'): string {
  return `carto.run/${kind.toLowerCase()}-name`
}

/** Returns the labels of a stamped object with full values; {@link stamped} shortens those that are too long. */
export function labelsFor(given: {
  readonly owner: KubeObject
  readonly ownerKind: OwnerKind
  readonly blueprint: Pick<Blueprint, 'metadata'>
  readonly resource: string
  readonly template: Template
}): Record<string, string> {
  const { owner, ownerKind, blueprint, resource, template } = given
  const own = ownerKind.toLowerCase()
  const chain = ownerKind === 'Workload' ? 'supply-chain' : 'delivery'
  return {
    [`carto.run/${own}-name`]: owner.metadata.name ?? '',
    [`carto.run/${own}-namespace`]: owner.metadata.namespace ?? '',
    [`carto.run/${chain}-name`]: blueprint.metadata.name ?? '',
    [stampLabel.resource]: resource,
    [stampLabel.templateKind]: template.kind,
    [stampLabel.templateName]: template.metadata.name ?? '',
    [stampLabel.lifecycle]: template.spec.lifecycle ?? 'mutable',
  }
}

/**
 * Interpolates `template` or evaluates `expression`; `ytt` is rendered by the Cluster port. Throws {@link StampError}.
 */
export function renderTemplate(spec: Pick<TemplateSpec, 'template' | 'expression'>, context: JsonObject): JsonValue {
  if (spec.template !== undefined) return interpolated(spec.template, context)
  if (spec.expression !== undefined) return evaluated(spec.expression, context)
  throw new StampError('the template is empty: set one of template, ytt, expression')
}

/** Returns the error message of an expression that does not compile or yields no object, undefined otherwise. */
export function templateExpressionProblem(expression: string): string | undefined {
  const program = programs.get(expression)
  if (program instanceof CelCompileError) return program.message
  const { type } = program
  if (type.kind === 'map' || type.kind === 'dyn') return undefined
  return `must be an object, it is of type ${formatType(type)}`
}

/**
 * Returns the object to apply: the rendered object with namespace, labels and owner reference. Throws
 * {@link StampError}.
 */
export function stamped(raw: JsonValue, owner: KubeObject, labels: Readonly<Record<string, string>>): KubeObject {
  if (!isJsonObject(raw)) throw new StampError('the template does not render to an object')
  const object = asObject(raw)
  for (const field of ['apiVersion', 'kind'] as const) {
    if (typeof object[field] !== 'string' || object[field] === '')
      throw new StampError(`the stamped object has no ${field}`)
  }
  const { namespace } = owner.metadata
  const metadata = object.metadata ?? {}
  if (metadata.namespace !== undefined && metadata.namespace !== namespace)
    throw new StampError('cannot set namespace in resource template')
  if (!metadata.name && !metadata.generateName)
    throw new StampError('the stamped object has neither metadata.name nor metadata.generateName')
  const values = Object.entries(labels)
  const long = values.filter(([, value]) => longLabelValue(value) !== value)
  const short = Object.fromEntries(values.map(([key, value]) => [key, longLabelValue(value)]))
  return {
    ...object,
    metadata: {
      ...metadata,
      namespace,
      labels: { ...metadata.labels, ...short },
      ...(long.length > 0 && { annotations: { ...metadata.annotations, ...Object.fromEntries(long) } }),
      ownerReferences: [referenceTo(owner)],
    },
  }
}

/** Owners in manifests have no uid; those in a cluster always have one. */
function referenceTo({ apiVersion, kind, metadata: { name = '', uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** Returns a digest of an object, independent of the order of keys: 40 hexadecimal digits. */
export function stampDigest(object: KubeObject): string {
  return createHash('sha256')
    .update(stringifyJson(sortKeys(object as unknown as JsonValue)))
    .digest('hex')
    .slice(0, 40)
}

/**
 * Returns the object with its own digest as a label. The name of the blueprint does not count: a run is not repeated
 * because its blueprint was renamed.
 */
export function withDigest(object: KubeObject): KubeObject {
  const { metadata } = object
  const counted = Object.entries(metadata.labels ?? {}).filter(([key]) => !blueprintLabels.includes(key))
  const digest = stampDigest({ ...object, metadata: { ...metadata, labels: Object.fromEntries(counted) } })
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, [stampLabel.digest]: digest } } }
}

const blueprintLabels: readonly string[] = ['carto.run/supply-chain-name', 'carto.run/delivery-name']

const programs = new ProgramCache({ variables: Object.fromEntries(contextNames.map((name) => [name, types.dyn])) })

function interpolated(template: JsonObject, context: JsonObject): JsonValue {
  try {
    return interpolate(template, context, unsetVariables(context))
  } catch (error) {
    if (error instanceof InterpolationError) throw new StampError(error.message, { cause: error })
    throw error
  }
}

function evaluated(expression: string, context: JsonObject): JsonValue {
  try {
    const program = programs.get(expression)
    if (program instanceof CelCompileError) throw program
    const variables = Object.fromEntries(contextNames.map((name) => [name, context[name] ?? null]))
    return cloneJson(toJson(program.evaluate(variables)))
  } catch (error) {
    if (error instanceof CelCompileError || error instanceof CelError || error instanceof CelBudgetError)
      throw new StampError(`cannot evaluate the expression of the template: ${error.message}`, { cause: error })
    throw error
  }
}
