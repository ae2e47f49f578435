// Waiting for a condition without sleeping: turns of the event loop, with one limit for all tests, so that a failure
// says what it waited for.
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Milliseconds after which a test that waits gives up. Only a failure takes so long: it is generous, so that a machine
 * that does much else fails no test, and below vitest's own limit, which does not say what was awaited.
 */
export const patience = 90_000

/** Resolves as soon as `holds` gives a value that is not false or undefined. */
export async function until<T>(what: string, holds: () => T | false | undefined): Promise<T> {
  const end = performance.now() + patience
  for (let turn = 0; ; turn++) {
    const value = holds()
    if (value !== false && value !== undefined) return value
    if (performance.now() > end) throw new Error(`Waited in vain until ${what}`)
    // What needs more than a few turns waits for a timer or another process, which gets the processor meanwhile.
    if (turn < 200) await new Promise((resolve) => setImmediate(resolve))
    else await delay(2)
  }
}

/** Calls `check` every `interval` milliseconds until it does not throw, and returns what it returned last. */
export async function eventually<T>(check: () => T | Promise<T>, interval = 10): Promise<T> {
  const end = performance.now() + patience
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > end) throw error
    }
    await delay(interval)
  }
}

/** Many turns of the event loop: what is under way in this process settles. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}
