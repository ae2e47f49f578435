// Children grouped by their kind, as requests carry them.
import type { Child, ChildKind } from '../children/child.ts'
import type { ObjectsOfKind } from '../engine/request.ts'

/** Returns one entry for every declared kind, empty ones too. */
export function childrenByKind(kinds: readonly ChildKind[], children: readonly Child[]): readonly ObjectsOfKind[] {
  return kinds.map((kind) => ({
    kind,
    objects: children.filter((child) => child.kind === kind).map(({ object }) => object),
  }))
}
