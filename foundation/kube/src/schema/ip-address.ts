// IP addresses and prefixes as Go's net package parses them; for the string formats of schemas.

/**
 * Parses an IPv4 address in dotted form. `sloppy`: leading zeros are decimal and allowed, as Kubernetes still accepts
 * them.
 */
export function parseIpv4(text: string, sloppy: boolean = false): readonly number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const form = sloppy ? /^\d+$/ : /^(?:0|[1-9]\d*)$/
  const bytes = parts.map((part) => (form.test(part) ? Number(part) : 256))
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

/** Parses an IPv6 address (no zone) to its 8 groups; the last two may be written as IPv4. */
export function parseIpv6(text: string): readonly number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const front = groups(halves[0]!, halves.length === 1)
  const back = halves.length === 2 ? groups(halves[1]!, true) : []
  if (front === undefined || back === undefined) return undefined
  const missing = 8 - front.length - back.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  return [...front, ...Array<number>(missing).fill(0), ...back]
}

function groups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === '') return []
  const out: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      out.push(Number.parseInt(part, 16))
      continue
    }
    const ipv4 = mayEndInIpv4 && index === parts.length - 1 ? parseIpv4(part) : undefined
    if (ipv4 === undefined) return undefined
    out.push(ipv4[0]! * 256 + ipv4[1]!, ipv4[2]! * 256 + ipv4[3]!)
  }
  return out
}

/** Reports whether a string is an address and a prefix length (`10.0.0.0/8`, `fd00::/64`). */
export function isCidr(text: string): boolean {
  const slash = text.indexOf('/')
  if (slash < 0) return false
  const [address, prefix] = [text.slice(0, slash), text.slice(slash + 1)]
  if (!/^\d{1,3}$/.test(prefix)) return false
  const bits = parseIpv4(address, true) !== undefined ? 32 : parseIpv6(address) !== undefined ? 128 : -1
  return Number(prefix) <= bits
}
