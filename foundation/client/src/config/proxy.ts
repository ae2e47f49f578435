// Chooses the proxy for a server from the environment, as Go's net/http and kubectl do; NO_PROXY may contain CIDR
// blocks, as kubectl allows.
import { BlockList, isIP } from 'node:net'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the URL of the proxy for a server, from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` in either case; undefined
 * for a direct connection.
 */
export function proxyFromEnvironment(server: string, env: Environment): string | undefined {
  const { protocol, hostname, port } = new URL(server)
  const isPlain = protocol === 'http:'
  const proxy = isPlain ? valueOf(env, 'http_proxy') : valueOf(env, 'https_proxy')
  if (proxy === undefined) return undefined
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (isLoopback(host)) return undefined
  const target = { host, port: port || (isPlain ? '80' : '443') }
  const exceptions = (valueOf(env, 'no_proxy') ?? '').split(',').map((entry) => entry.trim().toLowerCase())
  if (exceptions.some((entry) => entry !== '' && isException(entry, target))) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

function valueOf(env: Environment, name: string): string | undefined {
  return env[name.toUpperCase()] || env[name] || undefined
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || loopback.check(host, familyOf(host))
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

function isException(entry: string, { host, port }: { readonly host: string; readonly port: string }): boolean {
  if (entry === '*') return true
  const [block, prefix] = entry.split('/')
  if (prefix !== undefined) return isWithin(host, block!, Number(prefix))
  const [, name, only] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry)!
  if (only !== undefined && only !== port) return false
  if (isIP(name!) !== 0) return name === host
  // `example.com` matches itself and its subdomains, `.example.com` and `*.example.com` only the subdomains.
  const domain = name!.replace(/^\*/, '')
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`)
}

function isWithin(host: string, block: string, prefix: number): boolean {
  const family = familyOf(block)
  if (isIP(block) === 0 || familyOf(host) !== family || !(prefix >= 0 && prefix <= (family === 'ipv4' ? 32 : 128)))
    return false
  const list = new BlockList()
  list.addSubnet(block, prefix, family)
  return list.check(host, family)
}

function familyOf(host: string): 'ipv4' | 'ipv6' {
  return isIP(host) === 6 ? 'ipv6' : 'ipv4'
}
