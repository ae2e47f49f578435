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

const adoptionPolicy = `${prefix}/adoption-policy`
const adoptionFields = `${prefix}/adoption-fields`
const deletionPolicy = `${prefix}/deletion-policy`

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
  /** The annotation that cannot be read, and what to write instead; undefined when all can. */
  readonly invalid: string | undefined
}

/** Annotations of an object, or of a namespace. */
export type Annotations = Readonly<Record<string, string>>

const adoptions: readonly (string | undefined)[] = ['adopt', 'adopt-or-create', undefined]
const deletions: readonly (string | undefined)[] = ['delete', 'retain', undefined]

function fieldsFrom(value: string | undefined): JsonObject | undefined {
  if (value === undefined) return {}
  try {
    const parsed = parseJson(value)
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the policies of an object. Its own annotations go before those of its namespace, which name the service, and
 * these before the default.
 */
export function policiesOf(
  { metadata }: KubeObject,
  { group }: { readonly group: string },
  namespace: Annotations,
  defaultDeletion: 'delete' | 'retain',
): Policies {
  const { annotations = {} } = metadata
  const adoption = annotations[adoptionPolicy]
  const fields = fieldsFrom(annotations[adoptionFields])
  const own = annotations[deletionPolicy]
  const ofNamespace = namespace[`${group}/deletion-policy`]
  const readOnly = annotations[`${prefix}/read-only`]
  const deletion = own ?? ofNamespace
  const invalid = [
    adoptions.includes(adoption) ? [] : [`${adoptionPolicy}: ${adoption}: write adopt or adopt-or-create`],
    fields === undefined ? [`${adoptionFields}: write a JSON map, such as {"name": "a-role"}`] : [],
    deletions.includes(own) ? [] : [`${deletionPolicy}: ${own}: write delete or retain`],
    deletions.includes(ofNamespace)
      ? []
      : [`${group}/deletion-policy of the namespace: ${ofNamespace}: write delete or retain`],
    [undefined, 'true', 'false'].includes(readOnly) ? [] : [`${prefix}/read-only: ${readOnly}: write true or false`],
  ].flat()
  return {
    adoption: adoption === 'adopt' || adoption === 'adopt-or-create' ? adoption : 'none',
    adoptionFields: fields ?? {},
    readOnly: readOnly === 'true',
    deletion: deletion === 'delete' || deletion === 'retain' ? deletion : defaultDeletion,
    forceDeletion: annotations[forceDeletionAnnotation] === 'true',
    invalid: invalid.length === 0 ? undefined : `the annotation ${invalid.join('; ')}`,
  }
}
