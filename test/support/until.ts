// Waiting for a condition without sleeping: turns of the event loop, with a limit so that a failure says what it waited for.

/** Resolves as soon as `holds` gives a value that is not false or undefined. */
export async function until<T>(what: string, holds: () => T | false | undefined): Promise<T> {
  const end = performance.now() + 5000
  for (;;) {
    const value = holds()
    if (value !== false && value !== undefined) return value
    if (performance.now() > end) throw new Error(`Waited in vain until ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Many turns of the event loop: what is under way in this process settles. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}
