// Validation of images in a pod update: they are mutable, but not to an empty value.
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath } from '@fairlead/kube'
import { stringAt } from '../fields.ts'
import { imageSpaceErrors } from './container-validation.ts'

/** Validates the images of a list of containers. */
export function imageErrors(field: string, containers: readonly JsonObject[]): FieldError[] {
  return containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    if (stringAt(container, 'image') === '') return [fieldErrors.required(`${path}.image`)]
    return imageSpaceErrors(path, container)
  })
}
