// Names of fields as expressions write them: what CEL cannot take as a name is escaped (`a-b` is `a__dash__b`, `namespace` `__namespace__`).

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

/** The name of a field in expressions; undefined for names that cannot be written at all. */
export function escapeFieldName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[a-zA-Z_][a-zA-Z0-9_./-]*$/.test(name)) return undefined
  return name.replace(/__|[./-]/g, (part) => escapes[part]!)
}
