// Protected groups: `k8s.io`, `kubernetes.io` and everything below them need an approval annotation.
import { fieldErrors } from '../../field-error.ts'
import type { FieldError } from '../../field-error.ts'
import { goQuote } from '../../go-text.ts'
import type { ObjectMeta } from '../../object.ts'

/** The annotation that names the approval. */
export const apiApprovedAnnotation = 'api-approved.kubernetes.io'

/** The approval state of a definition. */
export interface ApiApproval {
  readonly state: 'Approved' | 'Bypassed' | 'Missing' | 'Invalid'
  /** Kubernetes' message. */
  readonly message: string
}

/** Reports whether definitions of a group need approval. */
export function isProtectedGroup(group: string): boolean {
  return /(?:^|\.)(?:k8s\.io|kubernetes\.io)$/.test(group)
}

/** Reads the annotation. */
export function apiApprovalOf(metadata: ObjectMeta): ApiApproval {
  const value = metadata.annotations?.[apiApprovedAnnotation] ?? ''
  const rule = `protected groups must have approval annotation "${apiApprovedAnnotation}"`
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  if (value === '') return { state: 'Missing', message: `${rule}, ${see}` }
  if (value.startsWith('unapproved')) return { state: 'Bypassed', message: `not approved: ${goQuote(value)}` }
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?\s]+/.test(value)) return { state: 'Approved', message: `approved in ${value}` }
  return { state: 'Invalid', message: `${rule} with either a URL or a reason starting with "unapproved", ${see}` }
}

/** Validates the approval of a definition in a protected group; an unchanged state is never an error on update. */
export function validateApproval(group: string, metadata: ObjectMeta, old: ObjectMeta | undefined): FieldError[] {
  if (!isProtectedGroup(group)) return []
  const { state, message } = apiApprovalOf(metadata)
  if (old !== undefined && apiApprovalOf(old).state === state) return []
  const field = `metadata.annotations[${apiApprovedAnnotation}]`
  if (state === 'Missing') return [fieldErrors.required(field, message)]
  if (state === 'Invalid') return [fieldErrors.invalid(field, metadata.annotations?.[apiApprovedAnnotation], message)]
  return []
}
