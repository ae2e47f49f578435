// The references manifest of a kind, on its CustomResourceDefinition: commands read it there, for kinds of any origin.
import { stringifyJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import type { ReferenceRow } from './reference-table.ts'

/** Annotation of a CustomResourceDefinition: the rows of its kind, as JSON. */
export const referencesAnnotation: string = `${apiGroup}/references`

/** Returns the value of the annotation. */
export function annotationOf(rows: readonly ReferenceRow[]): string {
  return stringifyJson(rows as unknown as JsonValue)
}
