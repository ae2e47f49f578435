// IP addresses as Go's net/netip parses them, with its error messages, which CEL quotes.
import { goQuote } from './go-text.ts'

/** An IP address as a number of 32 or 128 bits. */
export interface GoAddress {
  readonly bits: 32 | 128
  readonly value: bigint
  /** The zone of an IPv6 address (`eth0` of `fe80::1%eth0`), or ''. */
  readonly zone: string
}

/** The fault of an address, with the rest of it from there on where Go quotes that. */
class AddressProblem extends Error {
  constructor(message: string, rest = '') {
    super(rest === '' ? message : `${message} (at ${goQuote(rest)})`)
  }
}

/** Parses an address; returns Go's error message when Go rejects it (`ParseAddr("x"): unable to parse IP`). */
export function parseGoAddress(text: string): GoAddress | string {
  try {
    const mark = /[.:%]/.exec(text)?.[0]
    if (mark === '.') return { bits: 32, value: parseV4(text), zone: '' }
    if (mark === ':') return parseV6(text)
    throw new AddressProblem(mark === '%' ? 'missing IPv6 address' : 'unable to parse IP')
  } catch (error) {
    if (error instanceof AddressProblem) return `ParseAddr(${goQuote(text)}): ${error.message}`
    throw error
  }
}

function parseV4(text: string): bigint {
  let value = 0n
  let field = ''
  let fields = 0
  for (const [index, character] of [...text].entries()) {
    if (character >= '0' && character <= '9') {
      if (field === '0') throw new AddressProblem('IPv4 field has octet with leading zero')
      field += character
      if (Number(field) > 255) throw new AddressProblem('IPv4 field has value >255')
    } else if (character === '.') {
      if (field === '' || index === text.length - 1)
        throw new AddressProblem('IPv4 field must have at least one digit', text.slice(index))
      if (fields === 3) throw new AddressProblem('IPv4 address too long')
      value = (value << 8n) | BigInt(field)
      field = ''
      fields++
    } else throw new AddressProblem('unexpected character', text.slice(index))
  }
  if (fields < 3) throw new AddressProblem('IPv4 address too short')
  return (value << 8n) | BigInt(field)
}

function parseV6(text: string): GoAddress {
  const percent = text.indexOf('%')
  const zone = percent < 0 ? '' : text.slice(percent + 1)
  if (percent >= 0 && zone === '') throw new AddressProblem('zone must be a non-empty string')
  let rest = percent < 0 ? text : text.slice(0, percent)
  const groups: number[] = []
  let gap = -1
  if (rest.startsWith('::')) {
    gap = 0
    rest = rest.slice(2)
  }
  while (rest !== '' && groups.length < 8) {
    const digits = /^[0-9a-fA-F]{0,5}/.exec(rest)![0]
    if (digits.length > 4) throw new AddressProblem('each group must have 4 or fewer digits', rest)
    if (digits === '') throw new AddressProblem('each colon-separated field must have at least one digit', rest)
    if (rest[digits.length] === '.') {
      groups.push(...embeddedV4(rest, groups.length, gap))
      rest = ''
      break
    }
    groups.push(Number.parseInt(digits, 16))
    rest = rest.slice(digits.length)
    if (rest === '') break
    if (rest[0] !== ':') throw new AddressProblem('unexpected character, want colon', rest)
    if (rest.length === 1) throw new AddressProblem('colon must be followed by more characters', rest)
    rest = rest.slice(1)
    if (rest[0] !== ':') continue
    if (gap >= 0) throw new AddressProblem('multiple :: in address', rest)
    gap = groups.length
    rest = rest.slice(1)
  }
  if (rest !== '') throw new AddressProblem('trailing garbage after address', rest)
  if (groups.length < 8 && gap < 0) throw new AddressProblem('address string too short')
  if (groups.length === 8 && gap >= 0) throw new AddressProblem('the :: must expand to at least one field of zeros')
  if (gap >= 0) groups.splice(gap, 0, ...Array<number>(8 - groups.length).fill(0))
  return { bits: 128, value: groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n), zone }
}

/** The last two groups, written as an IPv4 address. */
function embeddedV4(rest: string, before: number, gap: number): [number, number] {
  if (gap < 0 && before !== 6)
    throw new AddressProblem('embedded IPv4 address must replace the final 2 fields of the address', rest)
  if (before > 6)
    throw new AddressProblem('too many hex fields to fit an embedded IPv4 at the end of the address', rest)
  const value = Number(parseV4(rest))
  return [value >>> 16, value & 0xffff]
}
