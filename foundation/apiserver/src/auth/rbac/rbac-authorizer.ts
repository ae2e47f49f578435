// The RBAC authorizer: allows a request when a rule of a role that is bound to its user allows it.
import { goQuote } from '@fairlead/kube'
import type { Attributes, Authorizer, Decision, UserRules } from '../../identity/authorizer.ts'
import type { UserInfo } from '@fairlead/kube'
import { mastersGroup } from '../../identity/well-known-users.ts'
import { ruleAllows } from './policy-rule.ts'
import type { PolicyRule } from './policy-rule.ts'
import type { Binding, Grant, RoleReader } from './role-index.ts'

const allowed: Decision = Object.freeze({ allowed: true, reason: '' })
const denied: Decision = Object.freeze({ allowed: false, reason: '' })

/** The rules of a user, with an error for each missing role. */
export interface ResolvedRules {
  readonly rules: readonly PolicyRule[]
  /** Error messages; empty when every bound role exists. */
  readonly errors: readonly string[]
}

/** Authorizes by roles and bindings. `system:masters` has all permissions. */
export class RbacAuthorizer implements Authorizer {
  readonly #roles: RoleReader

  constructor(roles: RoleReader) {
    this.#roles = roles
  }

  authorize(attributes: Attributes): Decision {
    const { user } = attributes
    if (user.groups.includes(mastersGroup)) return allowed
    const errors: string[] = []
    for (const grant of this.#roles.grantsOf(
      user,
      attributes.resource === undefined ? '' : (attributes.namespace ?? ''),
    )) {
      const rules = this.#rulesOf(grant.binding, errors)
      if (rules.some((rule) => ruleAllows(rule, attributes)))
        return { allowed: true, reason: `RBAC: allowed by ${describeGrant(grant)}` }
    }
    return errors.length === 0 ? denied : { allowed: false, reason: `RBAC: ${joinErrors(errors)}` }
  }

  rulesFor(user: UserInfo, namespace: string): UserRules {
    const { rules, errors } = this.resolve(user, namespace)
    return {
      resourceRules: rules
        .filter((rule) => rule.resources !== undefined && rule.resources.length > 0)
        .map(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
          resourceNames.length === 0 ? { verbs, apiGroups, resources } : { verbs, apiGroups, resources, resourceNames },
        ),
      nonResourceRules: rules
        .filter((rule) => rule.nonResourceURLs !== undefined && rule.nonResourceURLs.length > 0)
        .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
      incomplete: errors.length > 0,
      ...(errors.length > 0 && { evaluationError: joinErrors(errors) }),
    }
  }

  /** Returns every rule of a user, cluster-wide ones first. */
  resolve(user: UserInfo, namespace: string): ResolvedRules {
    const errors: string[] = []
    const rules = this.#roles.grantsOf(user, namespace).flatMap(({ binding }) => this.#rulesOf(binding, errors))
    return { rules, errors }
  }

  #rulesOf(binding: Binding, errors: string[]): readonly PolicyRule[] {
    const { roleRef, namespace } = binding
    const rules = this.#roles.rulesOf(roleRef, namespace)
    if (rules !== undefined) return rules
    errors.push(`${roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ${goQuote(roleRef.name)} not found`)
    return []
  }
}

function describeGrant({ binding, subject }: Grant): string {
  const { namespace, name, roleRef } = binding
  const which =
    namespace === '' ? `ClusterRoleBinding ${goQuote(name)}` : `RoleBinding ${goQuote(`${name}/${namespace}`)}`
  const account =
    subject.kind === 'ServiceAccount' ? `/${subject.namespace === '' ? namespace : subject.namespace}` : ''
  return `${which} of ${roleRef.kind} ${goQuote(roleRef.name)} to ${subject.kind} ${goQuote(`${subject.name}${account}`)}`
}

/** Joins errors as Kubernetes' aggregate prints them, each message once. */
function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)]
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`
}
