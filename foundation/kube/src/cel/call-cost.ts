// The cost of calls in steps, from the sizes of their arguments: the figures of cel-go and of Kubernetes' libraries,
// used by both the evaluation and the estimation of the worst case.

/** The size of an argument: characters, bytes, elements; for lists of strings also the size of an element. */
export interface ArgumentSize {
  readonly size: number
  readonly element: number
}

/** The steps of a call. Calls without one cost one step. */
export type CallCost = (args: readonly ArgumentSize[]) => number

/** Traversing a character costs a tenth of a step. */
const perCharacter = 0.1

/** Each character of a regular expression costs a quarter of a step per character of the input. */
const perPatternCharacter = 0.25

function sizeAt(args: readonly ArgumentSize[], index: number): number {
  return args[index]?.size ?? 0
}

function characters(count: number): number {
  return Math.ceil(count * perCharacter)
}

/** Each character of the receiver. */
export const traversal: CallCost = (args) => characters(sizeAt(args, 0))

/** The receiver twice: reading it and writing the result. */
export const rewriting: CallCost = (args) => 2 * traversal(args)

/** Each character of the second argument: prefixes, formats. */
export const secondTraversal: CallCost = (args) => characters(sizeAt(args, 1))

/** Each character of the second argument by the largest pattern of a format: 128, a quarter of a step for each. */
export const formatMatch: CallCost = (args) => 32 * characters(sizeAt(args, 1))

/** Both arguments, concatenated. */
export const concatenation: CallCost = (args) => characters(sizeAt(args, 0) + sizeAt(args, 1))

/** The smaller of both arguments. */
export const comparison: CallCost = (args) => characters(Math.min(sizeAt(args, 0), sizeAt(args, 1)))

/** A search for one string in the other. */
export const search: CallCost = (args) => characters(sizeAt(args, 0)) * characters(sizeAt(args, 1))

/** A match of a regular expression with a string; the empty string counts as one character. */
export const match: CallCost = (args) =>
  characters(sizeAt(args, 0) + 1) * Math.ceil(sizeAt(args, 1) * perPatternCharacter)

/** Every element of the list that is the second argument. */
export const membership: CallCost = (args) => sizeAt(args, 1)

/** Every element of a list, and every character of strings in it. */
export const eachElement: CallCost = ([list]) => (list === undefined ? 0 : list.size * (1 + characters(list.element)))

/** Every pair of elements of both lists, or of the same one. */
export const eachPair: CallCost = (args) => sizeAt(args, 0) * (args.length > 1 ? sizeAt(args, 1) : sizeAt(args, 0))

/** Every character of the elements and of the separators. */
export const joining: CallCost = ([list, separator]) =>
  list === undefined ? 0 : characters(list.size * (list.element + (separator?.size ?? 0)))
