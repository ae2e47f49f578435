// The port of resolution: reads of referents, grants between namespaces and cycles among objects. The runtime side
// answers from caches and the reference index, the offline side from files.
import type { KubeObject } from '@fairlead/kube'
import type { ObjectId } from './object-id.ts'
import type { ReferentKind } from './reference-table.ts'

/** Result of a read. `unknown`: the kind is not served, cannot be listed, or its cache is not complete: not absent. */
export type Lookup =
  | { readonly state: 'found'; readonly object: KubeObject }
  | { readonly state: 'absent' }
  | { readonly state: 'unknown'; readonly message: string }

/**
 * Decision on references from other namespaces. `open`: any may cross, whatever the namespace says; `granted`: a
 * ReferenceGrant there allows it; `unknown`: the grants cannot be read now.
 */
export type Permission = 'open' | 'granted' | 'denied' | 'unknown'

/**
 * A cycle among objects. `Synced`: every reference of it waits for Synced, so that none of them can
 * begin. `Value`: none does, so that what may be left out at first breaks it. `mixed`: some do.
 */
export interface ObjectCycle {
  readonly objects: readonly ObjectId[]
  readonly waitFor: 'Synced' | 'mixed' | 'Value'
}

/** Reads that resolution makes on its way. All are synchronous: decisions are made from caches. */
export interface Referents {
  read(kind: ReferentKind, namespace: string, name: string): Lookup
  /** Called for references to another namespace only. */
  permission(from: ObjectId, to: ObjectId): Permission
  /** Returns the cycle that holds the reference from one object to the other; undefined when there is none. */
  cycle(from: ObjectId, to: ObjectId): ObjectCycle | undefined
}
