// Computations in steps: pure functions over large values that can yield to other work without being asynchronous.

/** A computation that pauses between its steps and returns T. */
export type Steps<T> = Generator<void, T, void>

/** Runs all steps at once. */
export function runSteps<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** Runs the steps and awaits `pause` between them. */
export async function runStepsCooperatively<T>(steps: Steps<T>, pause: () => Promise<void>): Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    await pause()
    step = steps.next()
  }
  return step.value
}
