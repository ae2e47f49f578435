// The user behind a request, as authenticators identify it and authorizers, admission and strategies read it.

/** The authenticated user of a request. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}
