// Cooperative multitasking: work on many objects yields to the event loop between chunks.
import { setImmediate } from 'node:timers/promises'

/** Objects to process before yielding to the event loop. */
export const chunkSize = 500

/** Milliseconds that one iteration of the event loop may last, over all work of the process. */
const blockingBudget = 10

/** When the work of the current iteration of the event loop began; undefined before its first work. */
let iterationBegan: number | undefined

/** Resolves after timers and I/O callbacks that are due have run. */
export function yieldToEventLoop(): Promise<void> {
  return setImmediate()
}

/**
 * Resolves at once while the current iteration of the event loop is short, and in the next one once it has lasted 10
 * ms. Work that awaits nothing but promises calls it between two items, so that it cannot starve timers and I/O.
 */
export async function yieldIfLong(): Promise<void> {
  if (iterationBegan === undefined) return beginWork()
  if (performance.now() - iterationBegan < blockingBudget) return
  await setImmediate()
  beginWork()
}

/** Counts the iteration of the event loop from now on, unless it is counted already. Call it where work begins. */
export function beginWork(): void {
  if (iterationBegan !== undefined) return
  iterationBegan = performance.now()
  void setImmediate().then(() => (iterationBegan = undefined))
}
