// Stamping: the object that a template makes for an owner (originals/cartographer.md §2.5).
import { createHash } from 'node:crypto'
import { asObject, cloneJson, isJsonObject, longLabelValue, sortKeys, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { CelBudgetError, CelCompileError, CelError, compile, toJson, types } from '@fairlead/kube/cel'
import type { Blueprint, OwnerKind, Template, TemplateSpec } from '../../api.ts'
import { contextNames } from './context.ts'
import { InterpolationError, interpolate } from './interpolation.ts'

/** An object that cannot be stamped. The message says why. */
export class StampError extends Error {
  override readonly name = 'StampError'
  readonly code = 'StampFailed'
}

/** Labels of stamped objects. */
export const stampLabel = {
  resource: 'carto.run/resource-name',
  templateKind: 'carto.run/template-kind',
  templateName: 'carto.run/cluster-template-name',
  lifecycle: 'carto.run/template-lifecycle',
  runnable: 'carto.run/runnable-name',
  runTemplate: 'carto.run/run-template-name',
  /** Digest of what was asked for, on objects that are never changed: whether there is one already is read from the cluster. */
  digest: 'carto.run/stamp-digest',
} as const

/** The label that names the owner; every stamped object has it. */
export function ownerLabel(kind: OwnerKind | 'Runnable'): string {
  return `carto.run/${kind.toLowerCase()}-name`
}

/** Full values of the labels of a stamped object; {@link stamped} shortens what is too long. */
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

/** Fills in `template` or evaluates `expression`. `ytt` needs a program and is not done here. Throws {@link StampError}. */
export function renderTemplate(spec: Pick<TemplateSpec, 'template' | 'expression'>, context: JsonObject): JsonValue {
  if (spec.template !== undefined) return interpolated(spec.template, context)
  if (spec.expression !== undefined) return evaluated(spec.expression, context)
  throw new StampError('the template is empty: give it one of template, ytt, expression')
}

/** What is wrong with the text of a template's expression; undefined when it compiles. */
export function templateExpressionProblem(text: string): string | undefined {
  try {
    compile(text, environment)
    return undefined
  } catch (error) {
    if (error instanceof CelCompileError) return error.message
    throw error
  }
}

/** The object as it is applied: in the namespace of its owner, owned, and labelled. Throws {@link StampError}. */
export function stamped(raw: JsonValue, owner: KubeObject, labels: Readonly<Record<string, string>>): KubeObject {
  if (!isJsonObject(raw)) throw new StampError('the template does not make an object')
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

/** Owners of files have no uid yet; those of a cluster always have. */
function referenceTo({ apiVersion, kind, metadata: { name = '', uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** A text that is the same for the same object, whatever the order of its keys: 40 hex digits. */
export function stampDigest(object: KubeObject): string {
  return createHash('sha256')
    .update(stringifyJson(sortKeys(object as unknown as JsonValue)))
    .digest('hex')
    .slice(0, 40)
}

/** The object with the digest of itself among its labels. */
export function withDigest(object: KubeObject): KubeObject {
  const labels = { ...object.metadata.labels, [stampLabel.digest]: stampDigest(object) }
  return { ...object, metadata: { ...object.metadata, labels } }
}

const environment = { variables: Object.fromEntries(contextNames.map((name) => [name, types.dyn])) }

function interpolated(template: JsonObject, context: JsonObject): JsonValue {
  try {
    return interpolate(template, context)
  } catch (error) {
    if (error instanceof InterpolationError) throw new StampError(error.message, { cause: error })
    throw error
  }
}

function evaluated(text: string, context: JsonObject): JsonValue {
  try {
    const variables = Object.fromEntries(contextNames.map((name) => [name, context[name] ?? null]))
    return cloneJson(toJson(compile(text, environment).evaluate(variables)))
  } catch (error) {
    if (error instanceof CelCompileError || error instanceof CelError || error instanceof CelBudgetError)
      throw new StampError(`cannot evaluate the expression of the template: ${error.message}`, { cause: error })
    throw error
  }
}
