// Cooperative multitasking: work on many objects yields to the event loop between chunks.
import { setImmediate } from 'node:timers/promises'

/** Objects to process before yielding to the event loop. */
export const chunkSize = 500

/** Resolves after timers and I/O callbacks that are due have run. */
export function yieldToEventLoop(): Promise<void> {
  return setImmediate()
}
