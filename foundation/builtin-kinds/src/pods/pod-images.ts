// Images of a pod that is changed: they are among the few things that may, but not to nothing.
import type { FieldError, JsonObject } from '@fairlead/kube'
import { fieldErrors, fieldPath } from '@fairlead/kube'
import { stringAt } from '../fields.ts'
import { imageSpaceErrors } from './container-validation.ts'

/** Checks the images of a list of containers. */
export function fieldErrorsOfImages(field: string, containers: readonly JsonObject[]): FieldError[] {
  return containers.flatMap((container, index) => {
    const path = fieldPath(field, index)
    if (stringAt(container, 'image') === '') return [fieldErrors.required(`${path}.image`)]
    return imageSpaceErrors(path, container)
  })
}
