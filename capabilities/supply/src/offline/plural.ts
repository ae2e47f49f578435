// Plurals of kinds where there is no server to ask.

/** The plural that a kind most likely has: `repositories` for Repository. */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase()
  if (/(?:s|x|z|ch|sh)$/.test(name)) return `${name}es`
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}
