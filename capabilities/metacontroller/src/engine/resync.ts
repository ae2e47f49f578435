// Reconciles without an event (R5, Q16): spread evenly, so that a period of N groups is N single calls and never a
// burst.
import { fractionOf } from './map-key.ts'

/** Longest duration of the first round after a start, in milliseconds (specs/map.md §1). */
export const startWindow = 60_000

/**
 * Returns the milliseconds until the next resync of a group. Each key has an offset of its own, the same in every
 * period.
 */
export function untilResync(mapKey: string, now: number, periodSeconds: number): number {
  const period = periodSeconds * 1000
  const offset = Math.floor(fractionOf(mapKey) * period)
  const passed = (((now - offset) % period) + period) % period
  return period - passed
}

/** Returns the milliseconds after a start until a group that seems unchanged is reconciled once. */
export function startDelay(mapKey: string, periodSeconds: number | undefined): number {
  const window = periodSeconds === undefined ? startWindow : periodSeconds * 1000
  return Math.floor(fractionOf(mapKey) * window)
}
