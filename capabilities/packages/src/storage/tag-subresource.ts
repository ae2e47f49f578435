// `packagerevisions/tag`: a git tag that moves from one published revision of a package to another, such as `stable`.
// Variants follow it. It is a right of its own, as it changes what others get.
import type { SubresourceHandlers } from '@fairlead/controller'
import { fieldErrors, forbidden, invalid, notFound } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { porchGroup } from '../api.ts'
import { isPublished } from '../engine/lifecycle.ts'
import { workspaceNameError } from '../engine/names.ts'
import { versionNumber } from '../git/package-layout.ts'
import type { PackageService } from '../runtime/package-service.ts'
import { revisionsResource } from './package-revision-storage.ts'
import { asStatusError } from './status-error.ts'

/** The kind of the request and of the response. */
export interface PackageRevisionTag extends KubeObject {
  readonly spec?: { readonly tag?: string }
}

/** Returns the handlers of the subresource. */
export function tagSubresource({ repositories }: PackageService): SubresourceHandlers {
  return {
    name: 'tag',
    apiVersion: `${porchGroup}/v1alpha1`,
    kind: 'PackageRevisionTag',
    canDryRun: true,
    async create(object, { key, dryRun, signal }) {
      const tag = (object as PackageRevisionTag).spec?.tag ?? ''
      await repositories.ready(key.namespace, signal)
      const located = repositories.revision(key)
      if (located === undefined) throw notFound(revisionsResource, key.name)
      const problem = tagError(tag)
      if (problem !== undefined)
        throw invalid(revisionsResource, key.name, [fieldErrors.invalid('spec.tag', tag, problem)])
      const { repository, revision } = located
      if (!isPublished(revision.lifecycle) || revision.revision <= 0)
        throw forbidden(revisionsResource, key.name, 'only published package revisions can be tagged')
      if (!dryRun)
        await asStatusError(() => repository.tag(revision, tag), { resource: revisionsResource, name: key.name })
      return object
    },
  }
}

function tagError(tag: string): string | undefined {
  if (versionNumber(tag) >= 0) return 'this is the tag of a revision by its number'
  return workspaceNameError(tag)
}
