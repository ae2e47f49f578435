// The protocol between a reflector and whoever keeps a copy of the state.
import type { KubeObject } from '@fairlead/kube'

/**
 * Why a copy cannot be kept up to date right now. What it holds may be old or incomplete: treat what it lacks as
 * unknown, never as gone.
 * - `Forbidden`: the server refuses to list or watch.
 * - `Absent`: the server serves no such kind.
 * - `Failed`: anything else (no connection, errors of the server).
 */
export type InterruptionReason = 'Forbidden' | 'Absent' | 'Failed'

/** What to do with the copy. Events come in order, one at a time; a listener must not throw. */
export type ReflectorEvent<T extends KubeObject> =
  /** A list begins: what earlier `listed` have told of an unfinished one says nothing about what exists. */
  | { readonly type: 'listing' }
  /** Put these objects in; more follow. So large lists are taken in piece by piece. */
  | { readonly type: 'listed'; readonly objects: readonly T[] }
  /**
   * Put these objects in, the last of the list, and take out what the list did not name. The copy is complete from here
   * on, until an interruption.
   */
  | { readonly type: 'replaced'; readonly objects: readonly T[]; readonly resourceVersion: string }
  /** Put the object in the place of its key. */
  | { readonly type: 'set'; readonly object: T }
  /** Take the object's key out; `object` is its last state. */
  | { readonly type: 'deleted'; readonly object: T }
  /** Nothing changed up to this revision: the copy is as new as that. */
  | { readonly type: 'current'; readonly resourceVersion: string }
  /**
   * The copy may be out of date until the next `resumed` or `replaced`. The next attempt is made in `retryIn`
   * milliseconds, or at once on `wake()`.
   */
  | {
      readonly type: 'interrupted'
      readonly reason: InterruptionReason
      readonly error: unknown
      readonly retryIn: number
    }
  /** The interruption is over without a gap: the copy goes on from where it was. */
  | { readonly type: 'resumed' }
