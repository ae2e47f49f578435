// What calls cost in steps, from the sizes of their arguments: the figures of cel-go and of Kubernetes' libraries. The same figures count
// while an expression runs and while its worst case is estimated.

/** The size of an argument: characters, bytes, elements; for lists of texts also the size of an element. */
export interface ArgumentSize {
  readonly size: number
  readonly element: number
}

/** Steps of a call. Calls without one take a single step. */
export type CallCost = (args: readonly ArgumentSize[]) => number

/** Looking at a character takes a tenth of a step. */
const perCharacter = 0.1

/** A part of a regular expression takes a quarter of a step for every character that it is tried on. */
const perPatternCharacter = 0.25

function sizeAt(args: readonly ArgumentSize[], index: number): number {
  return args[index]?.size ?? 0
}

function characters(count: number): number {
  return Math.ceil(count * perCharacter)
}

/** Each character of the receiver. */
export const traversal: CallCost = (args) => characters(sizeAt(args, 0))

/** The receiver twice: once to read it, once to write the result. */
export const rewriting: CallCost = (args) => 2 * traversal(args)

/** Each character of the second argument: prefixes, formats. */
export const secondTraversal: CallCost = (args) => characters(sizeAt(args, 1))

/** Both arguments, put together. */
export const concatenation: CallCost = (args) => characters(sizeAt(args, 0) + sizeAt(args, 1))

/** As far as the smaller of two goes. */
export const comparison: CallCost = (args) => characters(Math.min(sizeAt(args, 0), sizeAt(args, 1)))

/** One text looked for in the other. */
export const search: CallCost = (args) => characters(sizeAt(args, 0)) * characters(sizeAt(args, 1))

/** An expression tried on a text; the empty text counts as one character. */
export const match: CallCost = (args) =>
  characters(sizeAt(args, 0) + 1) * Math.ceil(sizeAt(args, 1) * perPatternCharacter)

/** Every element of the list that is the second argument. */
export const membership: CallCost = (args) => sizeAt(args, 1)

/** Every element of a list, and every character of those that are texts. */
export const eachElement: CallCost = ([list]) => (list === undefined ? 0 : list.size * (1 + characters(list.element)))

/** Every element with every other of the second list, or of the same one. */
export const eachPair: CallCost = (args) => sizeAt(args, 0) * (args.length > 1 ? sizeAt(args, 1) : sizeAt(args, 0))

/** Every character of the elements and of what stands between them. */
export const joining: CallCost = ([list, separator]) =>
  list === undefined ? 0 : characters(list.size * (list.element + (separator?.size ?? 0)))
