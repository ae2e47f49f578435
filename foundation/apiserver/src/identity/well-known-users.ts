// Names that Kubernetes itself gives to users and groups.
import type { UserInfo } from '@fairlead/kube'

/** Allowed everything, before any authorizer is asked. */
export const mastersGroup = 'system:masters'
/** Everyone who showed credentials. */
export const authenticatedGroup = 'system:authenticated'
/** Everyone who showed none. */
export const unauthenticatedGroup = 'system:unauthenticated'
/** The user without credentials. */
export const anonymousName = 'system:anonymous'
/** Every service account. */
export const serviceAccountsGroup = 'system:serviceaccounts'
/** Extra field of a user: which credential was shown. */
export const credentialIdKey = 'authentication.kubernetes.io/credential-id'

const serviceAccountPrefix = 'system:serviceaccount:'

/** `system:serviceaccount:<namespace>:<name>`. */
export function serviceAccountName(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`
}

/** The groups of every service account of a namespace. */
export function serviceAccountGroups(namespace: string): string[] {
  return [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`]
}

/** The inverse of {@link serviceAccountName}; undefined for other users. */
export function parseServiceAccountName(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(serviceAccountPrefix)) return undefined
  const [namespace, name, ...rest] = user.slice(serviceAccountPrefix.length).split(':')
  if (namespace === undefined || name === undefined || namespace === '' || name === '' || rest.length > 0)
    return undefined
  return { namespace, name }
}

/** The user without credentials. */
export const anonymous: UserInfo = Object.freeze({ name: anonymousName, groups: Object.freeze([unauthenticatedGroup]) })
