// Reads flags as kube-apiserver does: `--name=value`, `--name value`, and both with one dash, as Go programs take them.

/** One flag of the program. */
export interface Flag {
  readonly name: string
  /** The value as `--help` shows it; none for a flag that is true without one. */
  readonly value?: string
  readonly description: string
}

/** The flags of a command line. */
export interface ParsedFlags {
  /** Values in the order of the command line, by the name of a known flag. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** Names that are not known, each once. */
  readonly unknown: readonly string[]
  /** A known flag at the end of the line that lacks its value. */
  readonly incomplete: string | undefined
  /** The first argument that belongs to no flag. */
  readonly argument: string | undefined
}

/** Parses a command line. What follows an unknown flag and has no dash is its value. */
export function parseFlags(args: readonly string[], flags: readonly Flag[]): ParsedFlags {
  const known = new Map(flags.map((flag) => [flag.name, flag]))
  const values = new Map<string, string[]>()
  const unknown = new Set<string>()
  let incomplete: string | undefined
  let argument: string | undefined
  for (let at = 0; at < args.length; at++) {
    const [, name, inline] = /^--?([a-zA-Z0-9][^=]*)(?:=([^]*))?$/.exec(args[at]!) ?? []
    if (name === undefined) {
      argument ??= args[at]
      continue
    }
    const flag = known.get(name)
    const next = args[at + 1]
    let value = inline
    if (flag === undefined) {
      unknown.add(name)
      if (value === undefined && next !== undefined && !next.startsWith('-')) at++
      continue
    }
    if (value === undefined && flag.value === undefined) value = 'true'
    if (value === undefined && next !== undefined) {
      value = next
      at++
    }
    if (value === undefined) incomplete = name
    else values.set(name, [...(values.get(name) ?? []), value])
  }
  return { values, unknown: [...unknown], incomplete, argument }
}
