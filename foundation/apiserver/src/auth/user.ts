// Who asks and what they ask for: what authenticators answer and authorizers decide on.

/** The caller of a request. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

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

/** A decision. `reason` says which binding allowed it, or why not. */
export interface Decision {
  readonly allowed: boolean
  readonly reason: string
}

/** Everything a user may do in a namespace, as far as rules can say it. */
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
  /** Some rules could not be found; `evaluationError` says which. */
  readonly incomplete: boolean
  readonly evaluationError?: string
}

/** Decides, and may have to ask another server. Throws a StatusError when it cannot. */
export interface RequestAuthorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>
}

/** Decides. Reads only from memory, hence synchronous. */
export interface Authorizer extends RequestAuthorizer {
  authorize(attributes: Attributes): Decision
  /** The rules a user has in a namespace, for SelfSubjectRulesReview. */
  rulesFor(user: UserInfo, namespace: string): UserRules
}

/** Who a client certificate speaks of. */
export interface ClientCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** SHA-256 of the certificate in hex. */
  readonly fingerprint?: string
  /** SHA-256 of the authorities above it, in hex; the last one is trusted. */
  readonly authorities?: readonly string[]
}

/** What an authenticator may look at. */
export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization: string | undefined
  /** The verified client certificate of the TLS connection. */
  readonly certificate: ClientCertificate | undefined
  /** A client certificate was shown, but not one of ours: without other credentials this is no anonymous caller. */
  readonly untrusted?: boolean
  /** All headers, names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** All headers with every value apart, where the door can tell them apart. */
  readonly repeated?: Readonly<Record<string, readonly string[] | undefined>>
}

/** One link of the chain: a user, `undefined` when these credentials are not its business, or `'invalid'`. */
export interface Authenticator {
  readonly name: string
  authenticate(credentials: Credentials): Promise<UserInfo | undefined | 'invalid'>
}
