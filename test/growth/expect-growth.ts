// The rule by which growth is judged: steps for three sizes, each twice the one before.
import { expect } from 'vitest'
import type { StepCounter } from './step-counter.ts'

/** Steps for three sizes, each twice the one before. */
export type Steps = readonly [small: number, medium: number, large: number]

/** Returns the steps of a run in three sizes; what is built once belongs to no size. */
export async function stepsOf(
  counter: StepCounter,
  run: (size: number) => Promise<unknown>,
  small = 200,
): Promise<Steps> {
  await run(20)
  const count = (size: number): Promise<number> => counter.count(() => run(size))
  return [await count(small), await count(2 * small), await count(4 * small)]
}

/**
 * Reports whether steps grow beyond n log n: the second increase would be four times the first one for a square, and is
 * 2.27 times for n log n.
 */
export function growsTooFast([small, medium, large]: Steps): boolean {
  return large - medium > 2.35 * Math.max(0, medium - small) + 20_000
}

/** Expects that twice the size costs twice the steps, n log n at most. */
export async function expectSteadyGrowth(
  counter: StepCounter,
  run: (size: number) => Promise<unknown>,
  small = 200,
): Promise<void> {
  const steps = await stepsOf(counter, run, small)
  expect(growsTooFast(steps), `${steps.join(', ')} steps for ${small}, ${2 * small}, ${4 * small}`).toBe(false)
}
