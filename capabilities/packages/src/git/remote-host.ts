// The host of a remote. Link-local addresses belong to the machine: cloud providers hand out credentials there.
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isLinkLocal } from '@fairlead/controller'
import { GitError } from './git-error.ts'

/** Returns the host of an address; undefined for a path, or when there is none. */
function hostOf(url: string): string | undefined {
  if (!url.includes('://')) return /^[^@/]*@([^:/]+):/.exec(url)?.[1]
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return host === '' ? undefined : host.replace(/^\[|\]$/g, '')
}

/** Refuses an address that names a link-local host by its number. @throws GitError `UnsupportedAddress` */
export function checkHost(url: string): void {
  const host = hostOf(url)
  if (host !== undefined && isIP(host) !== 0 && isLinkLocal(host)) throw refusal(host)
}

/** Refuses an address whose host has a link-local address by its name. @throws GitError `UnsupportedAddress` */
export async function checkResolvedHost(url: string): Promise<void> {
  const host = hostOf(url)
  if (host === undefined) return
  // A name that is not known is reported by git.
  const found = await lookup(host, { all: true }).catch(() => [])
  if (found.some(({ address }) => isLinkLocal(address))) throw refusal(host)
}

function refusal(host: string): GitError {
  return new GitError('UnsupportedAddress', `${host} is a link-local address, which a repository must not have`)
}
