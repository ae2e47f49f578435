// Kinds with the names of their resources.
import type { Kind } from '@fairlead/client'

/** A kind in one version and the names of its resource. The group of the core is ''. */
export interface ResourceKind extends Kind {
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly namespaced: boolean
}
