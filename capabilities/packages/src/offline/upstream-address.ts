// Addresses of upstream packages on the command line: `REPO_URI[.git]/PKG_PATH[@VERSION]`.
import { usageError } from '@fairlead/offline'

/** A package in a repository. */
export interface UpstreamAddress {
  readonly repo: string
  /** `/` for the whole repository. */
  readonly directory: string
  /** Branch, tag or commit; undefined for the default branch. */
  readonly ref: string | undefined
}

const example = 'write REPO_URI.git/PKG_PATH@VERSION, such as https://example.org/blueprints.git/web@v1'

/** @throws CommandError (usage) when the address names no repository */
export function parseUpstreamAddress(address: string): UpstreamAddress {
  const { location, ref } = splitVersion(address)
  const marked = /^(.*?\.git)(?:\/+(.*))?$/.exec(location) ?? hosted(location)
  if (marked === null) throw usageError(`${address} does not say where the repository ends; ${example}`)
  const [, repository = '', path = ''] = marked
  if (repository === '.git') throw usageError(`${address} names no repository; ${example}`)
  const directory = path.replace(/\/+$/, '').replace(/^\.$/, '')
  if (directory.split('/').includes('..')) throw usageError(`${address}: the path leaves the repository`)
  // `file:///repos/web/.git` is the repository in `/repos/web`.
  return {
    repo: repository.endsWith('/.git') ? repository.slice(0, -'.git'.length) : repository,
    directory: `/${directory}`,
    ref,
  }
}

/** On well-known hosts a repository is two parts long. */
function hosted(location: string): RegExpExecArray | null {
  return /^(https:\/\/(?:github\.com|gitlab\.com|bitbucket\.org)\/[^/]+\/[^/]+)(?:\/+(.*))?$/.exec(location)
}

/** Splits `my-package@v1`; an `@` before the last slash or of `user@host` is none of a version. */
export function splitVersion(reference: string): { readonly location: string; readonly ref: string | undefined } {
  const [, location, ref] = /^(.*[^/]|)@([^@:]*)$/.exec(reference) ?? []
  if (location === undefined || (/^[^/]*$/.test(location) && /^[^/]*:[^/]/.test(ref ?? '')))
    return { location: reference, ref: undefined }
  return { location, ref: ref === '' ? undefined : ref }
}
