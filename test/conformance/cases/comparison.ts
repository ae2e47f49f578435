// Comparison of actual with expected results.
import { inspect, isDeepStrictEqual } from 'node:util'

/** Something that is not as wanted. */
export interface Disagreement {
  /** Which key of `want` (or of the case) it is about. */
  readonly at: string
  readonly wanted: unknown
  readonly came: unknown
}

/** The same JSON value: lists in order, keys in any order, numbers by value. */
export function sameValue(at: string, wanted: unknown, came: unknown): Disagreement[] {
  return isDeepStrictEqual(plain(wanted), plain(came)) ? [] : [{ at, wanted, came }]
}

/** The same elements, in any order. */
export function sameSet(at: string, wanted: readonly string[], came: Iterable<string>): Disagreement[] {
  return sameValue(at, [...wanted].toSorted(), [...new Set(came)].toSorted())
}

/** Expects the given fields: objects may have more keys, everything else is compared whole. */
export function contains(at: string, wanted: unknown, came: unknown): Disagreement[] {
  if (!isObject(wanted)) return sameValue(at, wanted, came)
  if (!isObject(came)) return [{ at, wanted, came }]
  return Object.keys(wanted).flatMap((key) => contains(`${at}.${key}`, wanted[key], came[key]))
}

/** A message holds every fragment, whatever the case of its letters. */
export function holdsFragments(message: string, fragments: readonly string[]): boolean {
  const text = message.toLowerCase()
  return fragments.every((fragment) => text.includes(fragment.toLowerCase()))
}

/** As many messages as lists of fragments, each list matched by a message of its own, in any order. */
export function sameMessages(
  at: string,
  wanted: readonly (readonly string[])[],
  came: readonly string[],
): Disagreement[] {
  return wanted.length === came.length && areMatched(wanted, came) ? [] : [{ at, wanted, came }]
}

function areMatched([first, ...rest]: readonly (readonly string[])[], messages: readonly string[]): boolean {
  if (first === undefined) return true
  return messages.some((message, at) => holdsFragments(message, first) && areMatched(rest, messages.toSpliced(at, 1)))
}

/** The same values in any order, as often as they are wanted. */
export function sameElements(at: string, wanted: readonly unknown[], came: readonly unknown[]): Disagreement[] {
  const order = (values: readonly unknown[]): readonly string[] => values.map((value) => canonical(value)).toSorted()
  return isDeepStrictEqual(order(wanted), order(came)) ? [] : [{ at, wanted, came }]
}

/** JSON with the keys of objects in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}

/** A disagreement as lines of text. */
export function describe({ at, wanted, came }: Disagreement): string[] {
  return [`    ${at}`, `      wanted ${show(wanted)}`, `      came   ${show(came)}`]
}

function show(value: unknown): string {
  return inspect(value, { depth: null, breakLength: 160, compact: 10 }).replaceAll('\n', '\n             ')
}

/** JSON without undefined fields and without prototypes. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
