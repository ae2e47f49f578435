// Warnings about addresses that are valid but written in another form than the canonical one
// (apimachinery/pkg/util/validation/ip.go, v1.35).
import { goQuote } from '@fairlead/kube'
import { isCidr } from './cidr.ts'
import { isIpAddress, withoutLeadingZeros } from './ip-address.ts'

/** Returns the warnings about an address. */
export function addressWarnings(field: string, text: string): string[] {
  if (!isIpAddress(text)) return []
  const standard = text.includes(':') ? mappedAddress(text) : withoutLeadingZeros(text)
  if (standard !== undefined) {
    const message = `${field}: non-standard IP address ${goQuote(text)} will be considered invalid in a future Kubernetes release: use ${goQuote(standard)}`
    return standard === text ? [] : [message]
  }
  const canonical = canonicalAddress(text)
  return canonical === text
    ? []
    : [`${field}: IPv6 address ${goQuote(text)} should be in RFC 5952 canonical format (${goQuote(canonical)})`]
}

/** Returns the warnings about a network in CIDR notation. */
export function rangeWarnings(field: string, text: string): string[] {
  if (!isCidr(text)) return []
  const { value, bits, prefix } = networkOf(text)
  const rest = BigInt(bits - prefix)
  const network = (value >> rest) << rest
  const range = `${formatted(network, bits)}/${prefix}`
  const warnings: string[] = []
  if (network !== value) {
    const single = `${formatted(value, bits)}/${bits}`
    warnings.push(
      `${field}: CIDR value ${goQuote(text)} is ambiguous in this context (should be ${goQuote(range)} or ${goQuote(single)}?)`,
    )
  }
  if (isNonStandard(text)) {
    warnings.push(
      `${field}: non-standard CIDR value ${goQuote(text)} will be considered invalid in a future Kubernetes release: use ${goQuote(range)}`,
    )
  }
  return warnings.length > 0 || bits === 32 || range === text
    ? warnings
    : [`${field}: IPv6 CIDR value ${goQuote(text)} should be in RFC 5952 canonical format (${goQuote(range)})`]
}

/** Returns the parts of a network; an IPv4-mapped one is that of IPv4. */
function networkOf(text: string): { value: bigint; bits: number; prefix: number } {
  const [address = '', length = ''] = text.split('/')
  const value = numberOf(canonicalAddress(address))
  const isMapped = address.includes(':') && mappedAddress(address) !== undefined
  if (isMapped && Number(length) >= 96) return { value: value & 0xffffffffn, bits: 32, prefix: Number(length) - 96 }
  return { value, bits: address.includes(':') ? 128 : 32, prefix: Number(length) }
}

/** Reports whether a network has leading zeros, or is an IPv4-mapped one. */
function isNonStandard(text: string): boolean {
  const [address = '', length = ''] = text.split('/')
  if (/^0\d/.test(length)) return true
  return address.includes(':') ? mappedAddress(address) !== undefined : withoutLeadingZeros(address) !== address
}

/** Returns the canonical form of an address; the URL parser writes IPv6 as RFC 5952 does. */
export function canonicalAddress(text: string): string {
  return text.includes(':') ? new URL(`http://[${text}]`).hostname.slice(1, -1) : withoutLeadingZeros(text)
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
