// Names of fields in expressions: names that are not CEL identifiers are escaped (`a-b` is `a__dash__b`, `namespace`
// `__namespace__`).

const reserved: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace return var ' +
    'void while'
  ).split(' '),
)

const escapes: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}

/** Reports whether a name is a word of the language, so that the field of that name has another in expressions. */
export function isReservedName(name: string): boolean {
  return reserved.has(name)
}

/** Returns the name of a field in expressions; undefined for names that cannot be escaped. */
export function escapeFieldName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[a-zA-Z_][a-zA-Z0-9_./-]*$/.test(name)) return undefined
  return name.replace(/__|[./-]/g, (part) => escapes[part]!)
}
