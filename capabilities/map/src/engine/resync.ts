// When groups are asked without an event (R5, Q16): spread evenly, so that a period of N groups is N small calls and never a wave.
import { fractionOf } from './map-key.ts'

/** How long the first round after a start takes at most, in milliseconds (specs/map.md §1). */
export const startWindow = 60_000

/** Milliseconds until a group is asked next. Each key has its own place in the period, the same in every period. */
export function untilResync(mapKey: string, now: number, periodSeconds: number): number {
  const period = periodSeconds * 1000
  const place = Math.floor(fractionOf(mapKey) * period)
  const passed = (((now - place) % period) + period) % period
  return period - passed
}

/** Milliseconds after a start until a group that seems unchanged is asked once. */
export function startDelay(mapKey: string, periodSeconds: number | undefined): number {
  const window = periodSeconds === undefined ? startWindow : periodSeconds * 1000
  return Math.floor(fractionOf(mapKey) * window)
}
