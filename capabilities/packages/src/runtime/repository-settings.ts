// The settings of a repository, from its Repository object.
import type { Repository } from '../api.ts'
import type { IndexScope } from './revision-index.ts'

/** The settings of a repository, from its Repository object. */
export interface RepositorySettings extends IndexScope {
  readonly namespace: string
  /** Address of the remote; undefined for a managed repository. */
  readonly url: string | undefined
  readonly deployment: boolean
  readonly createBranch: boolean
  /** The author of commits in place of the user. */
  readonly author: { readonly name: string; readonly email: string } | undefined
}

/** Returns the settings of a Repository; paths without slashes at their ends. */
export function settingsOf({ metadata, spec }: Repository): RepositorySettings {
  const git = spec?.git
  return {
    namespace: metadata.namespace!,
    repository: metadata.name!,
    url: git?.repo,
    branch: git?.branch ?? 'main',
    directory: (git?.directory ?? '').replace(/^[./]*\/|^\.$|\/+$/g, ''),
    deployment: spec?.deployment === true,
    createBranch: git?.createBranch === true,
    author: git?.author === undefined && git?.email === undefined ? undefined : authorOf(git),
  }
}

function authorOf({ author, email }: { author?: string; email?: string }): { name: string; email: string } {
  return { name: author ?? email ?? '', email: email ?? author ?? '' }
}
