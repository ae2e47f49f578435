// Warnings about addresses that are valid but written in another form than the canonical one
// (apimachinery/pkg/util/validation/ip.go, v1.35).
import { goQuote } from '@fairlead/kube'
import { isCidr } from './cidr.ts'
import { isIpAddress } from './ip-address.ts'

/** Returns the warnings about an address. */
export function addressWarnings(field: string, text: string): string[] {
  if (!isIpAddress(text) || !text.includes(':')) return []
  const mapped = mappedAddress(text)
  if (mapped !== undefined)
    return [
      `${field}: non-standard IP address ${goQuote(text)} will be considered invalid in a future Kubernetes release: use ${goQuote(mapped)}`,
    ]
  const canonical = canonicalAddress(text)
  return canonical === text
    ? []
    : [`${field}: IPv6 address ${goQuote(text)} should be in RFC 5952 canonical format (${goQuote(canonical)})`]
}

/** Returns the warnings about a network in CIDR notation. */
export function rangeWarnings(field: string, text: string): string[] {
  if (!isCidr(text)) return []
  const [address = '', length = ''] = text.split('/')
  const bits = address.includes(':') ? 128 : 32
  const value = numberOf(canonicalAddress(address))
  const rest = BigInt(bits - Number(length))
  const network = (value >> rest) << rest
  const range = `${formatted(network, bits)}/${Number(length)}`
  if (network !== value) {
    const single = `${formatted(value, bits)}/${bits}`
    return [
      `${field}: CIDR value ${goQuote(text)} is ambiguous in this context (should be ${goQuote(range)} or ${goQuote(single)}?)`,
    ]
  }
  return bits === 32 || range === text
    ? []
    : [`${field}: IPv6 CIDR value ${goQuote(text)} should be in RFC 5952 canonical format (${goQuote(range)})`]
}

/** Returns the canonical form of an address; the URL parser writes IPv6 as RFC 5952 does. */
export function canonicalAddress(text: string): string {
  return text.includes(':') ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text
}

/** Returns the IPv4 address inside of `::ffff:1.2.3.4`. */
function mappedAddress(text: string): string | undefined {
  const value = numberOf(canonicalAddress(text))
  return value >> 32n === 0xffffn ? formatted(value & 0xffffffffn, 32) : undefined
}

function numberOf(canonical: string): bigint {
  if (!canonical.includes(':')) return canonical.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
  const [head = [], tail = []] = canonical.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
  return groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
}

function formatted(value: bigint, bits: number): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16))
  return canonicalAddress(groups.join(':'))
}
