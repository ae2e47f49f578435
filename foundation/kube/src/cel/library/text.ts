// Strings as CEL sees them: sequences of code points, not of UTF-16 units.

import { CelError } from '../errors.ts'

/** No call makes a longer text, in UTF-16 units. */
const maxLength = 10 * 1024 * 1024

/** The length of a text that a call is about to make. @throws CelError when that is too long */
export function checkedLength(length: number): number {
  if (length > maxLength) throw new CelError(`the result would be longer than ${maxLength} characters`)
  return length
}

const astral = /[\ud800-\udbff]/

/** The characters of a text; the text itself when each is one unit. */
export function characters(text: string): string | readonly string[] {
  return astral.test(text) ? Array.from(text) : text
}

/** How many code points. */
export function lengthOf(text: string): number {
  return characters(text).length
}

/** Part of a text by code points. */
export function sliceOf(text: string, start: number, end?: number): string {
  const all = characters(text)
  return typeof all === 'string' ? all.slice(start, end) : all.slice(start, end).join('')
}

/** Where a part begins at or after `from`, by code points; -1 when it does not. */
export function indexIn(text: string, part: string, from: number): number {
  const all = characters(text)
  if (typeof all === 'string') return all.indexOf(part, from)
  const found = text.indexOf(part, all.slice(0, from).join('').length)
  return found < 0 ? -1 : lengthOf(text.slice(0, found))
}

/** Where a part begins for the last time at or before `from`, by code points; -1 when it does not. */
export function lastIndexIn(text: string, part: string, from: number): number {
  const all = characters(text)
  if (typeof all === 'string') return all.lastIndexOf(part, from)
  const found = text.lastIndexOf(part, all.slice(0, from).join('').length)
  return found < 0 ? -1 : lengthOf(text.slice(0, found))
}
