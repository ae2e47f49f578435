// The verdict on an object, from its own state and from what it waits for. Pure.
import { isFine } from '@fairlead/controller'
import type { Causes, Unreadable } from '@fairlead/controller'

/**
 * - `Ready`: its own state says so, or nothing of its kind does and nothing is waited for;
 * - `NotReady`: it, or what it depends on, is not ready;
 * - `Unknown`: nothing of its kind says whether it is ready, and not all that it depends on can be read.
 */
export type Verdict = 'Ready' | 'NotReady' | 'Unknown'

/** Returns the verdict on an object. Nothing is ready because of something that could not be read. */
export function verdictOf({ root, causes }: Causes, unreadable: readonly Unreadable[]): Verdict {
  if (root.state === 'Ready') return 'Ready'
  if (!isFine(root)) return 'NotReady'
  const known = causes.filter(({ steps }) => steps.at(-1)!.node.state !== 'Unknown')
  if (known.length > 0) return 'NotReady'
  return causes.length > 0 || unreadable.length > 0 ? 'Unknown' : 'Ready'
}
