// The rights that a write requires beyond the right to write: an object that names a service account, for example,
// requires the right to impersonate it.
import { forbidden } from '@fairlead/kube'
import type { GroupResource, KubeObject, StatusError } from '@fairlead/kube'
import { accessText, serviceAccountSubject } from './access/access-reviews.ts'
import type { ResourceAccess } from './access/access-reviews.ts'
import type { RequiredAccess, Validator } from './validator.ts'

/**
 * Returns the rights that a write by `user` requires. The right of a service account to impersonate itself is left out:
 * an account that writes objects in its own name gains nothing.
 */
export function accessRequiredBy(
  validators: readonly Validator[],
  { group, plural }: GroupResource,
  user: string,
  write: { readonly object: KubeObject; readonly old: KubeObject | undefined },
): readonly RequiredAccess[] {
  return validators
    .filter((validator) => validator.group === group && validator.resources.includes(plural))
    .flatMap((validator) => validator.authorize?.(write.object, write.old) ?? [])
    .filter((access) => !isItself(user, access))
}

function isItself(user: string, { verb, group, resource, namespace, name }: ResourceAccess): boolean {
  if (verb !== 'impersonate' || group !== '' || resource !== 'serviceaccounts') return false
  return namespace !== undefined && name !== undefined && serviceAccountSubject({ namespace, name }).user === user
}

/** Returns the 403 for a write whose user lacks a right that it requires. */
export function missingAccess(
  resource: GroupResource,
  name: string,
  user: string,
  { reason, ...access }: RequiredAccess,
): StatusError {
  return forbidden(resource, name, `${accessText(access, { user })}: ${reason}`)
}
