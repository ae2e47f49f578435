// Policies that annotations set: adoption, read-only, the deletion policy (originals/ack.md §3.4, §3.8).
import { isJsonObject, parseJson } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'

const prefix = 'services.k8s.aws'
/** Annotation that is set once an existing resource was taken over. */
export const adoptedAnnotation: string = `${prefix}/adopted`
/** Annotation that lets a resource be deleted although other objects refer to it. */
export const forceDeletionAnnotation = 'references.services.k8s.aws/force-deletion'
/** Annotation with the region of the resource. */
export const regionAnnotation: string = `${prefix}/region`

/** Reaction to a resource that exists already. */
export type Adoption = 'none' | 'adopt' | 'adopt-or-create'

/** The policies of one object. */
export interface Policies {
  readonly adoption: Adoption
  /** Fields by which the resource to adopt is found. */
  readonly adoptionFields: JsonObject
  readonly readOnly: boolean
  readonly deletion: 'delete' | 'retain'
  readonly forceDeletion: boolean
}

function fieldsFrom(value: string | undefined): JsonObject {
  if (value === undefined) return {}
  try {
    const parsed = parseJson(value)
    return isJsonObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

/** Returns the policies of an object. Its own annotations win over the default. */
export function policiesOf({ metadata }: KubeObject, defaultDeletion: 'delete' | 'retain'): Policies {
  const annotations = metadata.annotations ?? {}
  const adoption = annotations[`${prefix}/adoption-policy`]
  const deletion = annotations[`${prefix}/deletion-policy`]
  return {
    adoption: adoption === 'adopt' || adoption === 'adopt-or-create' ? adoption : 'none',
    adoptionFields: fieldsFrom(annotations[`${prefix}/adoption-fields`]),
    readOnly: annotations[`${prefix}/read-only`] === 'true',
    deletion: deletion === 'delete' || deletion === 'retain' ? deletion : defaultDeletion,
    forceDeletion: annotations[forceDeletionAnnotation] === 'true',
  }
}
