// Prevention of privilege escalation: users may grant only permissions that they hold. Checks writes of roles and
// bindings before validation, as Kubernetes' pkg/registry/rbac/*/policybased.
import { asJson, forbidden, goQuote, jsonEqual, notFound } from '@fairlead/kube'
import type { KubeObject, StatusError, UserInfo } from '@fairlead/kube'
import { mastersGroup } from '../../identity/well-known-users.ts'
import { compactRules, describeRule, goList, missingRules } from './policy-rule.ts'
import type { PolicyRule } from './policy-rule.ts'
import type { RbacAuthorizer } from './rbac-authorizer.ts'
import { readRoleRef, readRules } from './role-index.ts'
import type { RoleReader } from './role-index.ts'

/** A write of a role or a binding. */
export interface RbacWrite {
  readonly user: UserInfo
  readonly resource: 'roles' | 'clusterroles' | 'rolebindings' | 'clusterrolebindings'
  /** '' for cluster-wide kinds. */
  readonly namespace: string
  /** The name in the request's path, '' for a creation. */
  readonly requestName: string
  readonly object: KubeObject
  readonly old: KubeObject | undefined
}

/** The RBAC state that the checks read. */
export interface RbacState {
  readonly authorizer: RbacAuthorizer
  readonly roles: RoleReader
}

const group = 'rbac.authorization.k8s.io'
const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Returns true for the resources that {@link checkEscalation} guards. */
export function isEscalationGuarded(apiGroup: string, resource: string): resource is RbacWrite['resource'] {
  return apiGroup === group && ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'].includes(resource)
}

/**
 * Returns the error for a write of a role or a binding: 403 when it grants permissions that the user lacks, 404 when
 * the bound role is missing; undefined when it is allowed.
 */
export function checkEscalation(write: RbacWrite, state: RbacState): StatusError | undefined {
  if (write.user.groups.includes(mastersGroup)) return undefined
  if (write.old !== undefined && changesOnlyGarbageCollection(write.object, write.old)) return undefined
  return write.resource === 'roles' || write.resource === 'clusterroles'
    ? checkRole(write, state)
    : checkBinding(write, state)
}

function checkRole(write: RbacWrite, state: RbacState): StatusError | undefined {
  const { user, resource, namespace, requestName, object, old } = write
  if (
    state.authorizer.authorize({ user, verb: 'escalate', group, version: '*', resource, namespace, name: requestName })
      .allowed
  )
    return undefined
  const missing = missingPermissions(readRules(asJson(object).rules), write, state)
  if (missing !== undefined) return forbiddenWrite(write, missing)
  const aggregates =
    resource === 'clusterroles' && (hasAggregationRule(object) || (old !== undefined && hasAggregationRule(old)))
  if (aggregates && missingPermissions(everything, write, state) !== undefined) {
    return forbiddenWrite(write, 'must have cluster-admin privileges to use the aggregationRule')
  }
  return undefined
}

function checkBinding(write: RbacWrite, state: RbacState): StatusError | undefined {
  const { user, resource, namespace, object } = write
  const roleRef = readRoleRef(asJson(object))
  const bound = roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles'
  const bind = {
    user,
    verb: 'bind',
    group: roleRef.apiGroup,
    version: '*',
    resource: bound,
    namespace,
    name: roleRef.name,
  }
  if (state.authorizer.authorize(bind).allowed) return undefined
  const rules = state.roles.rulesOf(roleRef, namespace)
  if (rules === undefined) return notFound({ group, plural: resource }, roleRef.name)
  const missing = missingPermissions(rules, write, state)
  return missing === undefined ? undefined : forbiddenWrite(write, missing)
}

function forbiddenWrite({ resource, object }: RbacWrite, detail: string): StatusError {
  return forbidden({ group, plural: resource }, object.metadata.name ?? '', detail)
}

function missingPermissions(
  wanted: readonly PolicyRule[],
  { user, namespace }: RbacWrite,
  { authorizer }: RbacState,
): string | undefined {
  const { rules, errors } = authorizer.resolve(user, namespace)
  const missing = missingRules(rules, wanted)
  if (missing.length === 0) return undefined
  const described = [...new Set(compactRules(missing).map(describeRule))].toSorted((left, right) =>
    left < right ? -1 : 1,
  )
  const who = `user ${goQuote(user.name)} (groups=${goList(user.groups)})`
  const problems = errors.length === 0 ? '' : `; resolution errors: [${errors.join(' ')}]`
  return `${who} is attempting to grant RBAC permissions not currently held:\n${described.join('\n')}${problems}`
}

function hasAggregationRule(object: KubeObject): boolean {
  const rule = object.aggregationRule as { clusterRoleSelectors?: readonly unknown[] } | null | undefined
  return (rule?.clusterRoleSelectors?.length ?? 0) > 0
}

/**
 * Returns true when only finalizers and owner references change: otherwise roles that no controller may write would
 * block garbage collection.
 */
function changesOnlyGarbageCollection(object: KubeObject, old: KubeObject): boolean {
  return jsonEqual(withoutGarbageCollectionFields(object), withoutGarbageCollectionFields(old))
}

function withoutGarbageCollectionFields(object: KubeObject): object {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _managers,
    resourceVersion: _revision,
    ...metadata
  } = object.metadata
  return { ...object, metadata }
}
