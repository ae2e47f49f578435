// Values as Go's fmt writes them in the messages of the catalog's functions.

/** A list of strings: `[a b]`. */
export function goList(values: readonly string[]): string {
  return `[${values.join(' ')}]`
}
