// Authorization as a contract: the attributes of a request, the decision on them, and the interface of authorizers (k8s.io/apiserver, authorizer).
import type { UserInfo } from '@fairlead/kube'

/** What a request wants to do. Resource requests have `resource`; all others have `path`. */
export interface Attributes {
  readonly user: UserInfo
  /** get list watch create update patch delete deletecollection, impersonate escalate bind …; for paths the lower-case HTTP method. */
  readonly verb: string
  readonly group?: string
  readonly version?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly path?: string
}

/** A decision. `reason` names the binding that allowed the request, or the reason for refusing it. */
export interface Decision {
  readonly allowed: boolean
  readonly reason: string
}

/** Everything a user may do in a namespace, as far as rules can express it. */
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

/** Decides, and may have to call another server. Throws a StatusError when it cannot. */
export interface RequestAuthorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>
}

/** Decides. Reads only from memory, hence synchronous. */
export interface Authorizer extends RequestAuthorizer {
  authorize(attributes: Attributes): Decision
  /** Returns the rules of a user in a namespace, for SelfSubjectRulesReview. */
  rulesFor(user: UserInfo, namespace: string): UserRules
}
