// The hosts that hooks may be called at, where an administrator names them.

/** Hosts: names, IP addresses, and `*.example.com` for all names below one. */
export class HookHosts {
  readonly #exact: ReadonlySet<string>
  readonly #suffixes: readonly string[]
  readonly #patterns: readonly string[]

  constructor(patterns: readonly string[]) {
    const lower = patterns.map((pattern) => pattern.toLowerCase())
    this.#exact = new Set(lower.filter((pattern) => !pattern.startsWith('*.')))
    this.#suffixes = lower.filter((pattern) => pattern.startsWith('*.')).map((pattern) => pattern.slice(1))
    this.#patterns = patterns
  }

  /** Reports whether hooks may be called at the host of a URL, without a port and the brackets of IPv6. */
  allows(host: string): boolean {
    const name = host.toLowerCase().replace(/\.$/, '')
    return this.#exact.has(name) || this.#suffixes.some((suffix) => name.endsWith(suffix) && name !== suffix.slice(1))
  }

  /** Formats the hosts for messages. */
  toString(): string {
    return this.#patterns.join(', ')
  }
}

/** Reports whether a string is a host, or `*.` before one. */
export function isHookHost(pattern: string): boolean {
  return /^(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i.test(pattern) || /^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(pattern)
}
