// Kinds with references of their own, from their CustomResourceDefinitions.
import { isJsonArray, isJsonObject, parseApiVersion, parseJson } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import { referencesAnnotation } from '../engine/reference-annotation.ts'
import type { ReferenceRow, ReferringKind } from '../engine/reference-table.ts'

/** A kind whose fields take their values from other objects, in all of its versions. */
export type DefinedKind = Omit<ReferringKind, 'version' | 'plural'>

/**
 * Returns the kind that a CustomResourceDefinition declares references for, undefined for every other object.
 * @throws CommandError when the annotation is malformed
 */
export function referringKind(object: KubeObject): DefinedKind | undefined {
  const rows = declaredReferences(object)
  if (rows === undefined || object.kind !== 'CustomResourceDefinition') return undefined
  if (parseApiVersion(object.apiVersion).group !== 'apiextensions.k8s.io') return undefined
  const spec = object['spec'] as JsonValue | undefined
  const names = isJsonObject(spec) ? spec['names'] : undefined
  if (!isJsonObject(spec) || !isJsonObject(names)) return undefined
  return {
    group: String(spec['group']),
    kind: String(names['kind']),
    rows,
  }
}

/**
 * Returns the references that the annotation of a definition declares, undefined without one.
 * @throws CommandError when the annotation is malformed
 */
export function declaredReferences({ metadata }: Pick<KubeObject, 'metadata'>): readonly ReferenceRow[] | undefined {
  const annotation = metadata.annotations?.[referencesAnnotation]
  return annotation === undefined ? undefined : rowsFrom(annotation, metadata.name ?? '')
}

const strings = ['fieldPath', 'refPath', 'group', 'version', 'kind', 'valuePath'] as const

function rowsFrom(annotation: string, name: string): readonly ReferenceRow[] {
  const rows = parsed(annotation)
  if (!isJsonArray(rows) || !rows.every(isRow))
    throw new CommandError(
      `CustomResourceDefinition ${name}: the annotation ${referencesAnnotation} must be a list of references, as \`fairlead generate crds\` writes it`,
    )
  return rows.map((row) => ({
    list: false,
    required: false,
    waitFor: 'Synced',
    bothSet: 'prefer_external',
    ...(row as unknown as Pick<ReferenceRow, (typeof strings)[number]>),
  }))
}

function parsed(annotation: string): JsonValue | undefined {
  try {
    return parseJson(annotation)
  } catch {
    return undefined
  }
}

function isRow(value: JsonValue): boolean {
  return isJsonObject(value) && strings.every((key) => typeof value[key] === 'string')
}
