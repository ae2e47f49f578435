// The identity that a request acts as.

/** The identity to impersonate; the fields of `Impersonate-*` headers. */
export interface Impersonation {
  readonly user: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}
