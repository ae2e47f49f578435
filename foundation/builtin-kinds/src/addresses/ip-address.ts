// IP addresses.
import { isIPv4, isIPv6 } from 'node:net'

/**
 * Reports whether a string is an IPv4 or IPv6 address without a zone. Like Kubernetes in the fields that it has always
 * had, it accepts leading zeros.
 */
export function isIpAddress(text: string): boolean {
  return isIPv4(withoutLeadingZeros(text)) || (isIPv6(text) && !text.includes('%'))
}

/** Returns an IPv4 address without leading zeros, which old objects may have; other strings stay as they are. */
export function withoutLeadingZeros(text: string): string {
  return /^\d+(\.\d+){3}$/.test(text) ? text.replaceAll(/\b0+(?=\d)/g, '') : text
}
