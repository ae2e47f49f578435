// The addresses that hooks may have. Link-local ones belong to the machine: cloud providers hand out credentials there.
import { lookup } from 'node:dns'
import type { LookupAddress, LookupOptions } from 'node:dns'
import { BlockList, isIPv6 } from 'node:net'

const linkLocal = new BlockList()
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4')
linkLocal.addSubnet('fe80::', 10, 'ipv6')
linkLocal.addAddress('fd00:ec2::254', 'ipv6')

/** Returns whether an IP address is link-local; false for names. */
export function isLinkLocal(address: string): boolean {
  return linkLocal.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** The error of a connection to a link-local address. */
export function linkLocalError(host: string): Error {
  return new Error(`${host} is a link-local address, which hooks must not have`)
}

type Callback = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/** `dns.lookup` that fails for names of link-local addresses. */
export function lookupHookHost(host: string, options: LookupOptions, callback: Callback): void {
  lookup(host, options, (error, found, family) => {
    const addresses = Array.isArray(found) ? found.map(({ address }) => address) : [found]
    if (error === null && addresses.some(isLinkLocal)) callback(linkLocalError(host), '')
    else callback(error, found, family)
  })
}
