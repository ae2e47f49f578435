// Advice for a YAML syntax error that authors of mappings meet.

/**
 * Returns advice for an unquoted wildcard apiVersion, which YAML reads as an alias: the design writes it without
 * quotes.
 */
export function wildcardHint(problem: string): string | undefined {
  return /anchor|alias/.test(problem) ? "quote wildcards: apiVersion: '*/*'" : undefined
}
