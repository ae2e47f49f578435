// The fields in which an object differs from a wanted one, for reports of drift.
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { asJson, isJsonObject, jsonEqual } from '@fairlead/kube'
import { appliedAnnotation, seenAnnotation } from './tag.ts'

/** Annotations that say what was written when, and nothing about the output. */
const bookkeeping: ReadonlySet<string> = new Set(
  [appliedAnnotation, seenAnnotation].map((name) => `metadata.annotations.${name}`),
)

/**
 * Returns the paths of the wanted fields that an object has not, or with another value: `spec.replicas`. Lists are
 * compared as a whole. A field that the last response had and the wanted object lacks is not found.
 */
export function differingFields(observed: KubeObject, wanted: KubeObject): readonly string[] {
  return pathsOf(asJson(observed), asJson(wanted), '').filter((path) => !bookkeeping.has(path))
}

function pathsOf(observed: JsonValue | undefined, wanted: JsonValue, path: string): readonly string[] {
  if (isJsonObject(wanted) && isJsonObject(observed)) {
    return Object.entries(wanted).flatMap(([name, value]) =>
      path === 'metadata' && name === 'ownerReferences'
        ? []
        : pathsOf(observed[name], value, path === '' ? name : `${path}.${name}`),
    )
  }
  return observed !== undefined && jsonEqual(observed, wanted) ? [] : [path]
}
