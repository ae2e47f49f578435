// The objects that a parent owns or may adopt, and the changes of ownership that follow.
import type { Child } from './child.ts'

/** Objects that may be children of a parent. */
export interface Candidates {
  /** Objects that the parent controls. */
  readonly owned: readonly Child[]
  /** Objects without a controlling owner where the parent may have children. */
  readonly orphans: readonly Child[]
}

/** The children of a parent, and the changes of ownership that come first. */
export interface Claims {
  readonly children: readonly Child[]
  readonly adopt: readonly Child[]
  readonly release: readonly Child[]
}
