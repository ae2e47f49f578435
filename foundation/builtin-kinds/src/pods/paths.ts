// Validation of file paths in volumes and mounts: relative and without `..`.
import type { FieldError } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'

/** Checks that a path has no `..`. */
export function backstepErrors(field: string, path: string): FieldError[] {
  return path.split('/').includes('..') ? [fieldErrors.invalid(field, path, "must not contain '..'")] : []
}

/** Checks that a path is relative and has no `..`. */
export function descendingPathErrors(field: string, path: string): FieldError[] {
  const absolute = path.startsWith('/') ? [fieldErrors.invalid(field, path, 'must be a relative path')] : []
  return [...absolute, ...backstepErrors(field, path)]
}

/** Checks that a path is relative, has no `..`, and does not begin with it: such names are reserved for the kubelet. */
export function unreservedPathErrors(field: string, path: string): FieldError[] {
  const reserved =
    path.startsWith('..') && !path.startsWith('../')
      ? [fieldErrors.invalid(field, path, "must not start with '..'")]
      : []
  return [...descendingPathErrors(field, path), ...reserved]
}
