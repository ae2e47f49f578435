// Validation of the addresses of load balancers, which the status of services and ingresses shows.
import type { FieldError } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'
import { subdomainName } from '../checks.ts'
import { isIpAddress } from './ip-address.ts'

/** Checks the IP address of a load balancer; it may be absent. */
export function balancerAddressErrors(field: string, ip: string): FieldError[] {
  if (ip === '' || isIpAddress(ip)) return []
  return [fieldErrors.invalid(field, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
}

/** Checks the host name of a load balancer; it may be absent. */
export function balancerHostErrors(field: string, host: string): FieldError[] {
  if (host === '') return []
  const errors = subdomainName(field, host)
  if (isIpAddress(host)) errors.push(fieldErrors.invalid(field, host, 'must be a DNS name, not an IP address'))
  return errors
}
