// Upstream packages, fetched for a command.
import { CommandError } from '@fairlead/offline'
import { GitError } from '../git/git-error.ts'
import type { FetchedPackage } from '../git/repository.ts'
import { fetchPackage } from '../git/repository.ts'
import type { UpstreamAddress } from './upstream-address.ts'

/** A fetched package with the ref that it was found at. */
export interface FetchedUpstream extends FetchedPackage {
  readonly ref: string
}

/** Fetches a package; without a ref from the branch main, else master. @throws CommandError */
export async function fetchUpstream(
  { repo, directory, ref }: UpstreamAddress,
  signal: AbortSignal,
): Promise<FetchedUpstream> {
  const candidates = ref === undefined ? ['main', 'master'] : [ref]
  let failure: GitError | undefined
  for (const candidate of candidates) {
    try {
      const fetched = await fetchPackage({ url: repo }, { ref: candidate, directory }, signal)
      return { ...fetched, ref: candidate }
    } catch (error) {
      if (!(error instanceof GitError)) throw error
      failure ??= error
      if (error.code !== 'RefNotFound') break
    }
  }
  throw new CommandError(failure!.message, undefined, { cause: failure })
}
