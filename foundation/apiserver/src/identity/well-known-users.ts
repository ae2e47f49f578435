// Names of users and groups that Kubernetes defines.
import type { UserInfo } from '@fairlead/kube'

/** The group with all permissions, before any authorizer is called. */
export const mastersGroup = 'system:masters'
/** The group of all authenticated users. */
export const authenticatedGroup = 'system:authenticated'
/** The group of anonymous requests. */
export const unauthenticatedGroup = 'system:unauthenticated'
/** The user without credentials. */
export const anonymousName = 'system:anonymous'
/** The group of all service accounts. */
export const serviceAccountsGroup = 'system:serviceaccounts'
/** The key of the extra field with the id of the credential. */
export const credentialIdKey = 'authentication.kubernetes.io/credential-id'

const serviceAccountPrefix = 'system:serviceaccount:'

/** Returns `system:serviceaccount:<namespace>:<name>`. */
export function serviceAccountName(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`
}

/** Returns the groups of every service account of a namespace. */
export function serviceAccountGroups(namespace: string): string[] {
  return [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`]
}

/** Parses the user name of a service account; returns undefined for other users. */
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

/** The user of the requests that the server makes to itself. */
export const apiServerUser: UserInfo = Object.freeze({
  name: 'system:apiserver',
  groups: Object.freeze([mastersGroup]),
})
