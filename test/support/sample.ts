// Samples of long lists of cases: `npm test` tries a part of them, `npm run test:long` all.

/**
 * Returns one of `every` items, the first among them. With FAIRLEAD_ALL_CASES it returns all items, or a share of them:
 * `2/8` is every eighth item from the second on.
 */
export function sampleOf<T>(items: readonly T[], every: number): readonly T[] {
  const all = process.env['FAIRLEAD_ALL_CASES']
  if (!all) return items.filter((_, index) => index % every === 0)
  const [first = 1, shares] = all.split('/').map(Number)
  return shares === undefined ? items : items.filter((_, index) => index % shares === first - 1)
}
