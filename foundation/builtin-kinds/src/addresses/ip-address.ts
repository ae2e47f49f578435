// IP addresses.
import { isIP } from 'node:net'

/** Reports whether a string is an IPv4 or IPv6 address without a zone. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}
