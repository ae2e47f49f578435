// Paths of files in volumes and mounts: relative, and never up.
import type { FieldError } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'

/** A path without `..`. */
export function backstepErrors(field: string, path: string): FieldError[] {
  return path.split('/').includes('..') ? [fieldErrors.invalid(field, path, "must not contain '..'")] : []
}

/** A relative path without `..`. */
export function descendingPathErrors(field: string, path: string): FieldError[] {
  const absolute = path.startsWith('/') ? [fieldErrors.invalid(field, path, 'must be a relative path')] : []
  return [...absolute, ...backstepErrors(field, path)]
}

/** A relative path without `..`, whose first name does not begin so either: such names are the kubelet's own. */
export function unreservedPathErrors(field: string, path: string): FieldError[] {
  const reserved =
    path.startsWith('..') && !path.startsWith('../')
      ? [fieldErrors.invalid(field, path, "must not start with '..'")]
      : []
  return [...descendingPathErrors(field, path), ...reserved]
}
