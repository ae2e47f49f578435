// Samples of long lists of cases: `npm test` tries a part of them, `npm run test:long` all.

/** Returns one of `every` items, the first among them; all items when FAIRLEAD_ALL_CASES is set. */
export function sampleOf<T>(items: readonly T[], every: number): readonly T[] {
  return process.env['FAIRLEAD_ALL_CASES'] ? items : items.filter((_, index) => index % every === 0)
}
