// IP addresses and CIDRs, as Kubernetes accepts them: no zones, no IPv4 inside IPv6.
import { parseGoAddress } from '../../go-address.ts'
import type { GoAddress } from '../../go-address.ts'
import { goQuote } from '../../go-text.ts'
import { traversal } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import { OpaqueValue } from '../values.ts'
import { succeeds } from './kubernetes.ts'

type Address = Pick<GoAddress, 'bits' | 'value'>

interface Range {
  readonly address: Address
  readonly prefix: number
}

type AddressValue = OpaqueValue<Address>
type RangeValue = OpaqueValue<Range>

/** Parses an address. @throws CelError in Kubernetes' words */
function parseAddress(text: string): AddressValue {
  const address = parseGoAddress(text)
  if (typeof address === 'string')
    throw new CelError(`IP Address ${goQuote(text)} parse error during conversion from string: ${address}`)
  if (address.zone !== '') throw new CelError(`IP address ${goQuote(text)} with zone value is not allowed`)
  refuseMapped(address, text)
  return addressValue(address)
}

/** @throws CelError for an IPv4 address inside of an IPv6 address */
function refuseMapped({ bits, value }: Address, text: string, prefix = ''): void {
  if (bits === 128 && value >> 32n === 0xffffn)
    throw new CelError(`${prefix}IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`)
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
  const slash = text.lastIndexOf('/')
  const address = slash < 0 ? "no '/'" : parseGoAddress(text.slice(0, slash))
  const problem = typeof address === 'string' ? address : prefixProblem(address, text.slice(slash + 1))
  if (typeof address === 'string' || problem !== undefined) {
    const prefix = 'network address parse error during conversion from string: '
    throw new CelError(`${prefix}${prefix}netip.ParsePrefix(${goQuote(text)}): ${problem}`)
  }
  refuseMapped(address, text, 'network address parse error during conversion from string: ')
  return rangeValue({ address, prefix: Number(text.slice(slash + 1)) })
}

function prefixProblem({ zone, bits }: GoAddress, prefix: string): string | undefined {
  if (zone !== '') return 'IPv6 zones cannot be present in a prefix'
  if (!/^(?:0|[1-9][0-9]{0,18})$/.test(prefix)) return `bad bits after slash: ${goQuote(prefix)}`
  return Number(prefix) > bits ? 'prefix length out of range' : undefined
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
  const other = parseGoAddress(base) as GoAddress
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
