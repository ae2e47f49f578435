// Impersonation: the Impersonate-* headers, each authorized separately.
import { badRequest } from '@fairlead/kube'
import type { StatusError, UserInfo } from '@fairlead/kube'
import { forbiddenRequest } from './forbidden.ts'
import type { Attributes, RequestAuthorizer } from '../identity/authorizer.ts'
import type { Credentials } from '../identity/credentials.ts'
import {
  anonymousName,
  authenticatedGroup,
  parseServiceAccountName,
  serviceAccountGroups,
  unauthenticatedGroup,
} from '../identity/well-known-users.ts'

/** The user that a request impersonates. */
export interface ImpersonationRequest {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

const userHeader = 'impersonate-user'
const uidHeader = 'impersonate-uid'
const groupHeader = 'impersonate-group'
const extraPrefix = 'impersonate-extra-'

/** Reads the headers; returns undefined without any. Repeated headers must be lists. */
export function readImpersonation(headers: Credentials['headers']): ImpersonationRequest | undefined {
  const extra = new Map<string, readonly string[]>()
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(extraPrefix)) continue
    extra.set(decodeKey(name.slice(extraPrefix.length)), valuesOf(value))
  }
  const user = valuesOf(headers[userHeader])[0] ?? ''
  const uid = valuesOf(headers[uidHeader])[0] ?? ''
  const groups = valuesOf(headers[groupHeader])
  if (user === '' && uid === '' && groups.length === 0 && extra.size === 0) return undefined
  return { user, uid, groups, extra }
}

/** Returns the impersonated user, or the error: 403 for the first denied attribute, 400 without a user. */
export async function impersonate(
  requester: UserInfo,
  wanted: ImpersonationRequest,
  authorizer: RequestAuthorizer,
): Promise<UserInfo | StatusError> {
  if (wanted.user === '')
    return badRequest(`requested [${[...requested(wanted)].join(' ')}] without impersonating a user`)
  for (const attributes of attempts(requester, wanted)) {
    const decision = await authorizer.authorize(attributes)
    if (!decision.allowed) return forbiddenRequest(attributes, decision.reason)
  }
  return {
    name: wanted.user,
    ...(wanted.uid !== '' && { uid: wanted.uid }),
    groups: groupsOf(wanted),
    ...(wanted.extra.size > 0 && { extra: Object.fromEntries(wanted.extra) }),
  }
}

/**
 * Yields the requested attributes, as Go prints object references: kind, namespace, name, uid, version, revision and
 * field.
 */
function* requested({ groups, extra, uid }: ImpersonationRequest): Generator<string> {
  for (const name of groups) yield `{Group  ${name}    }`
  for (const [key, values] of extra)
    for (const name of values) yield `{UserExtra  ${name}  authentication.k8s.io/v1  ${key}}`
  if (uid !== '') yield `{UID  ${uid}  authentication.k8s.io/v1  }`
}

/** Yields the attributes to authorize, in the order of the API server. */
function* attempts(user: UserInfo, wanted: ImpersonationRequest): Generator<Attributes> {
  const base = { user, verb: 'impersonate', version: 'v1' }
  const account = parseServiceAccountName(wanted.user)
  if (account === undefined) yield { ...base, group: '', resource: 'users', name: wanted.user }
  else yield { ...base, group: '', resource: 'serviceaccounts', namespace: account.namespace, name: account.name }
  for (const name of wanted.groups) yield { ...base, group: '', resource: 'groups', name }
  for (const [subresource, values] of wanted.extra) {
    for (const name of values)
      yield { ...base, group: 'authentication.k8s.io', resource: 'userextras', subresource, name }
  }
  if (wanted.uid !== '') yield { ...base, group: 'authentication.k8s.io', resource: 'uids', name: wanted.uid }
}

function groupsOf({ user, groups }: ImpersonationRequest): readonly string[] {
  const account = parseServiceAccountName(user)
  const wanted = groups.length === 0 && account !== undefined ? serviceAccountGroups(account.namespace) : groups
  if (user === anonymousName) return wanted.includes(unauthenticatedGroup) ? wanted : [...wanted, unauthenticatedGroup]
  if (wanted.includes(authenticatedGroup) || wanted.includes(unauthenticatedGroup)) return wanted
  return [...wanted, authenticatedGroup]
}

function valuesOf(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined) return []
  return typeof header === 'string' ? [header] : header
}

/** Decodes the key of an extra field, which is percent-encoded in header names; invalid escapes stay as they are. */
function decodeKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}
