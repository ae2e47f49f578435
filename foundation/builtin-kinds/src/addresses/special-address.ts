// Validation of endpoint addresses: special-purpose ranges are not allowed.
import type { FieldError } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'
import { isIpAddress, withoutLeadingZeros } from './ip-address.ts'

const specialRanges: readonly (readonly [range: RegExp, detail: string])[] = [
  [/^(127\.|::1$)/, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [/^(169\.254\.|fe[89ab][0-9a-f]:)/i, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [/^(224\.0\.0\.|ff.2:)/i, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
]

/** Checks that an address is not in a special-purpose range (unspecified, loopback, link-local). */
export function specialAddressErrors(field: string, ip: string): FieldError[] {
  if (!isIpAddress(ip)) return [fieldErrors.invalid(field, ip, 'must be a valid IP address')]
  const address = withoutLeadingZeros(ip)
  if (address === '0.0.0.0' || address === '::')
    return [fieldErrors.invalid(field, ip, `may not be unspecified (${ip})`)]
  return specialRanges
    .filter(([range]) => range.test(address))
    .map(([, detail]) => fieldErrors.invalid(field, ip, detail))
}
