// The rule by which growth is judged: steps for three sizes, each twice the one before.
import { expect } from 'vitest'
import type { StepCounter } from './step-counter.ts'

/** Steps for three sizes, each twice the one before. */
export type Steps = readonly [small: number, medium: number, large: number]

/** Steps that count for nothing: what a run does once, and what the test runner does meanwhile. */
const usualSlack = 20_000
/** Times that growth is counted before it is taken to be too fast. */
const attempts = 3

/**
 * Returns the steps of a run in three sizes; what is built once belongs to no size. Timers and messages of the test
 * runner add to a count and never take from it, so growth that seems too fast is counted again, and the lowest counts
 * are returned.
 */
export async function stepsOf(
  counter: StepCounter,
  run: (size: number) => Promise<unknown>,
  small = 200,
  slack: number = usualSlack,
): Promise<Steps> {
  await run(20)
  const count = (size: number): Promise<number> => counter.count(() => run(size))
  let lowest: Steps = [Infinity, Infinity, Infinity]
  for (let attempt = 0; attempt < attempts; attempt++) {
    const [first, second, third] = lowest
    lowest = [
      Math.min(first, await count(small)),
      Math.min(second, await count(2 * small)),
      Math.min(third, await count(4 * small)),
    ]
    if (!growsTooFast(lowest, slack)) break
  }
  return lowest
}

/**
 * Reports whether steps grow beyond n log n: the second increase would be four times the first one for a square, and is
 * 2.27 times for n log n.
 */
export function growsTooFast([small, medium, large]: Steps, slack: number = usualSlack): boolean {
  return large - medium > 2.35 * Math.max(0, medium - small) + slack
}

/** Expects that twice the size costs twice the steps, n log n at most. */
export async function expectSteadyGrowth(
  counter: StepCounter,
  run: (size: number) => Promise<unknown>,
  small = 200,
  slack: number = usualSlack,
): Promise<void> {
  const steps = await stepsOf(counter, run, small, slack)
  expect(growsTooFast(steps, slack), `${steps.join(', ')} steps for ${small}, ${2 * small}, ${4 * small}`).toBe(false)
}
