// IP networks in CIDR notation.
import { isIpAddress } from './ip-address.ts'

/** Reports whether a string is an IP network in CIDR notation. */
export function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/')
  return (
    rest.length === 0 &&
    isIpAddress(address) &&
    /^\d{1,3}$/.test(bits) &&
    Number(bits) <= (address.includes(':') ? 128 : 32)
  )
}
