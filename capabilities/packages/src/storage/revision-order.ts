// The order of lists of revisions: by namespace and name. A repository is sorted once for all pages of a list.
import type { PackageRepository } from '../runtime/package-repository.ts'
import type { Revision } from '../runtime/revision.ts'
import type { Revisions } from '../runtime/revision-index.ts'

/** Returns the key by which lists are ordered: names begin with that of the repository and a dot. */
export function orderOf({ settings }: PackageRepository, name: string): string {
  return `${settings.namespace}/${name}`
}

/** Revisions of one repository, by name. */
export interface OrderedRevisions {
  readonly repository: PackageRepository
  readonly revisions: readonly Revision[]
}

/** Returns the revisions behind a key of {@link orderOf}, in the order of lists. */
export function revisionsAfter(
  repositories: readonly PackageRepository[],
  after: string = '',
): readonly OrderedRevisions[] {
  const prefixOf = (repository: PackageRepository): string => orderOf(repository, `${repository.settings.repository}.`)
  return repositories
    .map((repository) => ({ repository, prefix: prefixOf(repository), revisions: inOrder(repository.revisions) }))
    .toSorted((a, b) => (a.prefix < b.prefix ? -1 : 1))
    .flatMap(({ repository, prefix, revisions }) => {
      if (!after.startsWith(prefix)) return prefix > after ? [{ repository, revisions }] : []
      const last = after.slice(repository.settings.namespace.length + 1)
      return [{ repository, revisions: revisions.filter(({ name }) => name > last) }]
    })
}

const sorted = new WeakMap<Revisions, readonly Revision[]>()

/** Returns revisions by name; sorted once for all pages of a list. */
function inOrder(revisions: Revisions): readonly Revision[] {
  let known = sorted.get(revisions)
  if (known === undefined) {
    known = [...revisions.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    sorted.set(revisions, known)
  }
  return known
}
