// Addresses of the Internet Protocol.
import { isIP } from 'node:net'

/** An IPv4 or IPv6 address, without a zone. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}
