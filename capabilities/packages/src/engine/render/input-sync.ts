// Gives the output of a function the comments and the key order of its input, which many functions lose.
import { isMap, isScalar, isSeq } from 'yaml'
import type { Node, Pair, YAMLMap } from 'yaml'
import { copyComments, keyText, pairOf, scalarText } from './fields.ts'

/** Copies comments where the output has none, and puts the keys of maps in the order of the input. */
export function syncWithInput(input: Node | null | undefined, output: Node | null | undefined): void {
  if (!input || !output) return
  if (isMap(input) && isMap(output)) {
    if (output.comment === undefined || output.comment === null) output.comment = input.comment ?? null
    pinHeader(output)
    for (const pair of output.items as Pair<Node, Node>[]) {
      const before = pairOf(input, keyText(pair))
      if (before === undefined) continue
      copyComments(before.key, pair.key)
      const header = before === input.items[0] ? input.commentBefore : undefined
      if (typeof header === 'string' && typeof pair.key.commentBefore !== 'string') pair.key.commentBefore = header
      syncWithInput(before.value, pair.value)
    }
    sortKeys(input, output)
    return
  }
  copyComments(input, output)
  if (isSeq(input) && isSeq(output))
    for (const [index, item] of (output.items as Node[]).entries()) {
      const before = input.items[index] as Node | undefined
      if (before !== undefined && isSameItem(before, item)) syncWithInput(before, item)
    }
}

/** Moves the comment in front of a map to its first key, which may move. */
function pinHeader(map: YAMLMap): void {
  const key = map.items[0]?.key
  if (typeof map.commentBefore !== 'string' || !isScalar(key)) return
  key.commentBefore =
    typeof key.commentBefore === 'string' ? `${map.commentBefore}\n${key.commentBefore}` : map.commentBefore
  map.commentBefore = null
}

/** Puts keys in the order of the input; new keys stay behind them in their own order. */
function sortKeys(input: YAMLMap, output: YAMLMap): void {
  const order = new Map(input.items.map((pair, index) => [keyText(pair), index]))
  const rank = (pair: Pair): number => order.get(keyText(pair)) ?? order.size
  if (output.items.every((pair, index) => index === 0 || rank(output.items[index - 1]!) <= rank(pair))) return
  output.items = output.items.toSorted((a, b) => rank(a) - rank(b))
}

function isSameItem(before: Node, item: Node): boolean {
  return isScalar(before) && isScalar(item)
    ? scalarText(before) === scalarText(item)
    : isScalar(before) === isScalar(item)
}
