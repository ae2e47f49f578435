// Namespaces: the label with the name, the finalizer of the content, phases.
import type { FieldError, KubeObject } from '@fairlead/kube'
import { dns1123Label, fieldErrors, qualifiedName } from '@fairlead/kube'
import type { Strategy } from '../definition/strategy.ts'
import { invalidWith } from '../checks.ts'
import { ensureAt, objectAt, stringAt, stringsAt } from '../fields.ts'

const nameLabel = 'kubernetes.io/metadata.name'

/** The strategy of Namespaces. Their `spec.finalizers` change through `/finalize` only. */
export const namespaceStrategy: Strategy = {
  hasStatus: true,
  allowUnconditionalUpdate: true,
  applyDefaults(object) {
    const name = object.metadata['name']
    if (typeof name === 'string' && name !== '') ensureAt(object.metadata, 'labels')[nameLabel] = name
  },
  prepareForCreate(object) {
    const name = object.metadata['name']
    if (typeof name === 'string' && name !== '') ensureAt(object.metadata, 'labels')[nameLabel] = name
    object['status'] = { phase: 'Active' }
    const spec = ensureAt(object, 'spec')
    const finalizers = stringsAt(spec, 'finalizers')
    if (!finalizers.includes('kubernetes')) spec['finalizers'] = [...finalizers, 'kubernetes']
  },
  prepareForUpdate(object, old) {
    object['spec'] = { ...objectAt(old, 'spec') }
  },
  validate: (object) => finalizerErrors(object),
  validateUpdate: (object, _old, { subresource }) => finalizerErrors(object, subresource === 'finalize'),
  validateStatusUpdate: (object) => [...finalizerErrors(object), ...phaseErrors(object)],
  validateName: (name, prefix) => dns1123Label(prefix ? name.replace(/-$/, 'a') : name),
}

function finalizerErrors(object: KubeObject, withIndex = false): FieldError[] {
  return stringsAt(object, 'spec', 'finalizers').flatMap((finalizer, index) => {
    const field = withIndex ? `spec.finalizers[${index}]` : 'spec.finalizers'
    const errors = invalidWith(field, finalizer, qualifiedName(finalizer))
    if (!finalizer.includes('/') && finalizer !== 'kubernetes') {
      errors.push(
        fieldErrors.invalid(field, finalizer, 'name is neither a standard finalizer name nor is it fully qualified'),
      )
    }
    return errors
  })
}

function phaseErrors(object: KubeObject): FieldError[] {
  const phase = stringAt(object, 'status', 'phase')
  const isLeaving = object.metadata.deletionTimestamp !== undefined
  if (!isLeaving && phase !== 'Active')
    return [fieldErrors.invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty")]
  if (isLeaving && phase !== 'Terminating') {
    return [fieldErrors.invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")]
  }
  return []
}
