// The protocol between a reflector and the cache that holds a copy of the state.
import type { KubeObject } from '@fairlead/kube'

/**
 * The reason why the copy cannot be kept up to date. It may be stale or incomplete: treat missing objects as unknown,
 * never as deleted.
 * - `Forbidden`: the server refuses to list or watch.
 * - `Absent`: the server serves no such kind.
 * - `Failed`: any other error (no connection, errors of the server).
 */
export type InterruptionReason = 'Forbidden' | 'Absent' | 'Failed'

/** Changes to apply to the copy. Events are delivered in order, one at a time; a listener must not throw. */
export type ReflectorEvent<T extends KubeObject> =
  /** A list starts: `listed` events of an earlier, unfinished list do not count. */
  | { readonly type: 'listing' }
  /** Add these objects; more follow. Large lists arrive in chunks. */
  | { readonly type: 'listed'; readonly objects: readonly T[] }
  /**
   * Add these objects, the last of the list, and remove objects that the list did not contain. The copy is complete
   * from here on, until an interruption.
   */
  | { readonly type: 'replaced'; readonly objects: readonly T[]; readonly resourceVersion: string }
  /** Add or replace the object. */
  | { readonly type: 'set'; readonly object: T }
  /** Remove the object; `object` is its last state. */
  | { readonly type: 'deleted'; readonly object: T }
  /** Nothing changed up to this revision (a bookmark). */
  | { readonly type: 'current'; readonly resourceVersion: string }
  /**
   * The copy may be stale until the next `resumed`; `replaced` before it brings it up to date once. The next attempt is
   * made after `retryIn` milliseconds, or at once on `wake()`. With a ClientError `ResponseLate` the present attempt
   * goes on.
   */
  | {
      readonly type: 'interrupted'
      readonly reason: InterruptionReason
      readonly error: unknown
      readonly retryIn: number
    }
  /** The interruption ended: a watch is open again, which continues where the copy is. */
  | { readonly type: 'resumed' }
