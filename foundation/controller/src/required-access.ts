// The rights that a write requires beyond the right to write: an object that names a service account, for example,
// requires the right to impersonate it.
import { forbidden } from '@fairlead/kube'
import type { GroupResource, KubeObject, StatusError } from '@fairlead/kube'
import { accessText, serviceAccountSubject } from './access/access-reviews.ts'
import type { RequiredAccess, RequiredKindAccess, Validator } from './validator.ts'

/**
 * Returns the rights that a write by `user` requires. The right of a service account to impersonate itself is left out:
 * an account that writes objects in its own name gains nothing.
 */
export function accessRequiredBy(
  validators: readonly Validator[],
  { group, plural }: GroupResource,
  user: string,
  write: { readonly object: KubeObject; readonly old: KubeObject | undefined },
): readonly (RequiredAccess | RequiredKindAccess)[] {
  return validators
    .filter((validator) => validator.group === group && validator.resources.includes(plural))
    .flatMap((validator) => validator.authorize?.(write.object, write.old) ?? [])
    .filter((access) => !isItself(user, access))
}

/**
 * Returns the right to the resource of a kind. For a kind that is not served it is the right to all resources of the
 * group: a definition that is installed later may give the kind any plural.
 */
export function accessToKind({ kind, ...access }: RequiredKindAccess, plural: string | undefined): RequiredAccess {
  if (plural !== undefined) return { ...access, resource: plural }
  const { group, reason } = access
  return {
    ...access,
    resource: '*',
    reason: `${reason}; the server serves no kind ${kind} in the API group "${group}"`,
  }
}

function isItself(user: string, access: RequiredAccess | RequiredKindAccess): boolean {
  if ('kind' in access) return false
  const { verb, group, resource, namespace, name } = access
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
