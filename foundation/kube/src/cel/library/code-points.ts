// Strings as sequences of code points, as in CEL, not of UTF-16 units.

import { CelError } from '../errors.ts'

/** The maximum length of a string that a call returns, in UTF-16 units. */
const maxLength = 10 * 1024 * 1024

/** Checks the length of a string before it is created. @throws CelError when it is too long */
export function checkedLength(length: number): number {
  if (length > maxLength) throw new CelError(`the result would be longer than ${maxLength} characters`)
  return length
}

const astral = /[\ud800-\udbff]/

/** Returns the code points of a string; the string itself when each is one unit. */
export function characters(text: string): string | readonly string[] {
  return astral.test(text) ? Array.from(text) : text
}

/** Returns the number of code points. */
export function lengthOf(text: string): number {
  return characters(text).length
}

/** Returns a substring by code points. */
export function sliceOf(text: string, start: number, end?: number): string {
  const all = characters(text)
  return typeof all === 'string' ? all.slice(start, end) : all.slice(start, end).join('')
}

/** Returns the first index of a part at or after `from`, in code points; -1 when there is none. */
export function indexIn(text: string, part: string, from: number): number {
  const all = characters(text)
  if (typeof all === 'string') return all.indexOf(part, from)
  const found = text.indexOf(part, all.slice(0, from).join('').length)
  return found < 0 ? -1 : lengthOf(text.slice(0, found))
}

/** Returns the last index of a part at or before `from`, in code points; -1 when there is none. */
export function lastIndexIn(text: string, part: string, from: number): number {
  const all = characters(text)
  if (typeof all === 'string') return all.lastIndexOf(part, from)
  const found = text.lastIndexOf(part, all.slice(0, from).join('').length)
  return found < 0 ? -1 : lengthOf(text.slice(0, found))
}
