// Names of the workspaces that the controller makes.
import type { ObservedRevision } from '../observed-revision.ts'
import { isOf } from '../observed-revision.ts'

const prefix = 'packagevariant-'

/** Returns the next workspace name of a package: `packagevariant-N`, N one more than the highest. */
export function nextWorkspaceName(
  downstream: { readonly repo: string; readonly package: string },
  revisions: readonly Pick<ObservedRevision, 'repository' | 'packageName' | 'workspaceName'>[],
): string {
  const numbers = revisions
    .filter((revision) => isOf(revision, downstream) && revision.workspaceName.startsWith(prefix))
    .map(({ workspaceName }) => Number(workspaceName.slice(prefix.length)))
    .filter((number) => Number.isSafeInteger(number) && number > 0)
  return `${prefix}${Math.max(0, ...numbers) + 1}`
}
