// Guesses plurals where nothing declares them.

/** Returns the plural that Kubernetes would choose for a kind: `repositories` for Repository. */
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase()
  if (name === 'endpoints') return name
  if (/(?:s|x|z|ch|sh)$/.test(name)) return `${name}es`
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}
