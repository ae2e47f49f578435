// Selections: the label and field selectors of a list or watch as one predicate.
import { badRequest } from '@fairlead/kube'
import type { FieldSelector, KubeObject, Selector } from '@fairlead/kube'
import type { ServedResource } from '../registry/registry.ts'
import { originRules } from '../objects/origin-rules.ts'

/** A predicate over served objects. */
export interface Selection {
  /** Every object is selected. */
  readonly isEverything: boolean
  /** The only name that can be selected, where a field selector names it. */
  readonly name: string | undefined
  matches(object: KubeObject): boolean
}

/** Every object. */
export const everyObject: Selection = { isEverything: true, name: undefined, matches: () => true }

/**
 * Binds selectors to a resource.
 * @throws StatusError 400 for fields that cannot be selected on
 */
export function selectionOf(resource: ServedResource, labels: Selector, fields: FieldSelector): Selection {
  const readers = fields.requirements.map(({ field, operator, value }) => {
    const read = fieldReader(resource, field)
    return (object: KubeObject): boolean => (read(object) === value) === (operator !== '!=')
  })
  if (labels.isEmpty && readers.length === 0) return everyObject
  const name = fields.requirements.find(({ field, operator }) => field === 'metadata.name' && operator !== '!=')?.value
  return {
    isEverything: false,
    name,
    matches: (object) =>
      (labels.isEmpty || labels.matches(object.metadata.labels ?? {})) && readers.every((reads) => reads(object)),
  }
}

function fieldReader({ definition, version }: ServedResource, field: string): (object: KubeObject) => string {
  if (field === 'metadata.name') return (object) => object.metadata.name ?? ''
  if (field === 'metadata.namespace' && (definition.namespaced || originRules(definition).selectsNamespaceEverywhere))
    return (object) => object.metadata.namespace ?? ''
  const read = Object.hasOwn(version.selectableFields, field) ? version.selectableFields[field] : undefined
  if (read !== undefined) return read
  if (originRules(definition).isUnstructured || Object.keys(version.selectableFields).length > 0)
    throw badRequest(
      definition.group === 'batch'
        ? `field label ${JSON.stringify(field)} not supported for ${definition.kind}`
        : `field label not supported: ${field}`,
    )
  throw badRequest(`${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`)
}
