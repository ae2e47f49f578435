// IP addresses and CIDRs, as Kubernetes accepts them: no zones, no IPv4 inside IPv6, no leading zeros.
import { traversal } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import { OpaqueValue } from '../values.ts'
import { succeeds } from './kubernetes.ts'

/** An address as a number of 32 or 128 bits. */
interface Address {
  readonly bits: 32 | 128
  readonly value: bigint
}

interface Range {
  readonly address: Address
  readonly prefix: number
}

type AddressValue = OpaqueValue<Address>
type RangeValue = OpaqueValue<Range>

function parseV4(text: string): Address | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (match === null) return undefined
  const parts = match.slice(1)
  if (parts.some((part) => Number(part) > 255 || (part.length > 1 && part.startsWith('0')))) return undefined
  return { bits: 32, value: parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n) }
}

function parseV6(text: string): Address | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')))
  const count = groups.reduce((sum, half) => sum + half.length, 0)
  if (groups.flat().some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return undefined
  if (halves.length === 1 ? count !== 8 : count > 7) return undefined
  const [head = [], tail = []] = groups
  const all = [...head, ...Array<string>(8 - count).fill('0'), ...tail]
  return { bits: 128, value: all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n) }
}

function parseAddress(text: string): AddressValue {
  const address = parseV4(text) ?? (text.includes(':') ? parseV6(text) : undefined)
  const mapped = address?.bits === 128 && address.value >> 32n === 0xffffn
  if (address === undefined || mapped || /^::ffff:.*\./i.test(text)) {
    throw new CelError(
      mapped
        ? `IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`
        : `IP Address ${JSON.stringify(text)} parse error during conversion from string: ParseAddr(${JSON.stringify(text)}): unable to parse IP`,
    )
  }
  return addressValue(address)
}

function addressValue(address: Address): AddressValue {
  return new OpaqueValue('net.IP', address, formatAddress(address))
}

function formatAddress({ bits, value }: Address): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.')
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':')
  // The longest run of zeros, at least two, is compressed; the first of equal ones.
  const [longest] = (groups.match(/\b0(?::0)+\b/g) ?? []).sort((a, b) => b.length - a.length)
  return longest === undefined
    ? groups
    : groups
        .replace(longest, '')
        .replace(/^:?:?$|^:|:$|::/, '::')
        .replace(/^(?!:)(.*[^:]):?::?$/, '$1::')
}

function parseRange(text: string): RangeValue {
  const match = /^(.*)\/(\d{1,3})$/.exec(text)
  const failure = new CelError(
    `network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text)}): no '/'`,
  )
  if (match === null) throw failure
  const address = parseAddress(match[1]!).value
  const prefix = Number(match[2])
  if (prefix > address.bits || (match[2]!.length > 1 && match[2]!.startsWith('0'))) throw failure
  return rangeValue({ address, prefix })
}

function rangeValue(range: Range): RangeValue {
  return new OpaqueValue('net.CIDR', range, `${formatAddress(range.address)}/${range.prefix}`)
}

/** Parses the argument of containsIP: an invalid one is no argument that it has. */
function addressArgument(text: string): AddressValue {
  try {
    return parseAddress(text)
  } catch (error) {
    throw error instanceof CelError ? new CelError('no such overload') : error
  }
}

function network({ address, prefix }: Range): bigint {
  const rest = BigInt(address.bits - prefix)
  return (address.value >> rest) << rest
}

function holdsAddress({ value: range }: RangeValue, { value: address }: AddressValue): boolean {
  return range.address.bits === address.bits && network(range) === network({ address, prefix: range.prefix })
}

function holdsRange(outer: RangeValue, inner: RangeValue): boolean {
  return inner.value.prefix >= outer.value.prefix && holdsAddress(outer, addressValue(inner.value.address))
}

/** Reports whether the first `prefix` bits equal those of `base`. */
function within({ bits, value }: Address, base: string, prefix: number): boolean {
  const other = (parseV4(base) ?? parseV6(base))!
  return bits === other.bits && value >> BigInt(bits - prefix) === other.value >> BigInt(bits - prefix)
}

const unspecified = (a: Address): boolean => a.value === 0n
const loopback = (a: Address): boolean => within(a, '127.0.0.0', 8) || within(a, '::1', 128)
const linkLocalMulticast = (a: Address): boolean =>
  within(a, '224.0.0.0', 24) || (within(a, 'ff00::', 8) && ((a.value >> 112n) & 0xfn) === 2n)
const linkLocalUnicast = (a: Address): boolean => within(a, '169.254.0.0', 16) || within(a, 'fe80::', 10)
const multicast = (a: Address): boolean => within(a, '224.0.0.0', 4) || within(a, 'ff00::', 8)
const broadcast = (a: Address): boolean => within(a, '255.255.255.255', 32)
const globalUnicast = (a: Address): boolean =>
  ![unspecified, loopback, multicast, linkLocalUnicast, broadcast].some((test) => test(a))

/** Returns ip, isIP, cidr, isCIDR and their methods. */
export function addressesLibrary(): Library {
  const test =
    (holds: (address: Address) => boolean) =>
    ({ value }: AddressValue): boolean =>
      holds(value)
  return new Library()
    .define('ip(string): net.IP', parseAddress, traversal)
    .define('isIP(string): bool', (text: string) => succeeds(() => parseAddress(text)), traversal)
    .define('ip.isCanonical(string): bool', (text: string) => parseAddress(text).text === text, traversal)
    .define('string(net.IP): string', ({ text }: AddressValue) => text)
    .define('net.IP.family(): int', ({ value }: AddressValue) => (value.bits === 32 ? 4n : 6n))
    .define('net.IP.isUnspecified(): bool', test(unspecified))
    .define('net.IP.isLoopback(): bool', test(loopback))
    .define('net.IP.isLinkLocalMulticast(): bool', test(linkLocalMulticast))
    .define('net.IP.isLinkLocalUnicast(): bool', test(linkLocalUnicast))
    .define('net.IP.isGlobalUnicast(): bool', test(globalUnicast))
    .define('cidr(string): net.CIDR', parseRange, traversal)
    .define('isCIDR(string): bool', (text: string) => succeeds(() => parseRange(text)), traversal)
    .define('string(net.CIDR): string', ({ text }: RangeValue) => text)
    .define('net.CIDR.containsIP(net.IP): bool', holdsAddress)
    .define('net.CIDR.containsIP(string): bool', (range: RangeValue, text: string) =>
      holdsAddress(range, addressArgument(text)),
    )
    .define('net.CIDR.containsCIDR(net.CIDR): bool', holdsRange)
    .define('net.CIDR.containsCIDR(string): bool', (range: RangeValue, text: string) =>
      holdsRange(range, parseRange(text)),
    )
    .define('net.CIDR.ip(): net.IP', ({ value }: RangeValue) => addressValue(value.address))
    .define('net.CIDR.masked(): net.CIDR', ({ value }: RangeValue) =>
      rangeValue({ prefix: value.prefix, address: { bits: value.address.bits, value: network(value) } }),
    )
    .define('net.CIDR.prefixLength(): int', ({ value }: RangeValue) => BigInt(value.prefix))
}
