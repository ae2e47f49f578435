// The authorization interfaces of k8s.io/apiserver (pkg/authorization/authorizer): attributes, decisions, authorizers.
import type { UserInfo } from '@fairlead/kube'

/** The attributes of a request to authorize. Resource requests have `resource`; all others have `path`. */
export interface Attributes {
  readonly user: UserInfo
  /**
   * get list watch create update patch delete deletecollection, impersonate escalate bind …; for paths the lower-case
   * HTTP method.
   */
  readonly verb: string
  readonly group?: string
  readonly version?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly path?: string
}

/** A decision. `reason` names the binding that allowed the request, or the reason for denying it. */
export interface Decision {
  readonly allowed: boolean
  readonly reason: string
}

/** The permissions of a user in a namespace, as far as rules can express them. */
export interface UserRules {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[]
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly resourceNames?: readonly string[]
  }[]
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[]
    readonly nonResourceURLs: readonly string[]
  }[]
  /** Some rules could not be found; `evaluationError` names them. */
  readonly incomplete: boolean
  readonly evaluationError?: string
}

/** An authorizer that may call another server. Throws a StatusError when it cannot decide. */
export interface RequestAuthorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>
}

/** An authorizer that reads memory only, hence synchronous. */
export interface Authorizer extends RequestAuthorizer {
  authorize(attributes: Attributes): Decision
  /** Returns the rules of a user in a namespace, for SelfSubjectRulesReview. */
  rulesFor(user: UserInfo, namespace: string): UserRules
}
