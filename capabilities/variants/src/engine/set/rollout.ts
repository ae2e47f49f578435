// The order in which the variants of a set are changed.

/** Returns items in ascending order of their ranks; equal ones keep their order. Numbers come before strings. */
export function paced<T extends { readonly rank?: string | number }>(items: readonly T[]): readonly T[] {
  return items.toSorted((a, b) => compareRanks(a.rank, b.rank))
}

function compareRanks(a: string | number | undefined, b: string | number | undefined): number {
  if (a === b || a === undefined || b === undefined) return 0
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1
  return a < b ? -1 : 1
}
