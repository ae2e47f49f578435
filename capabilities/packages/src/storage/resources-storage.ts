// PackageRevisionResources, served from git: the files of revisions.
import type { RestStorage, StorageChange, StorageKey, StorageReview, StorageWrite } from '@fairlead/controller'
import { badRequest, fieldErrors, invalid, notFound } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { porchGroup } from '../api.ts'
import type { PackageRevisionResources } from '../api.ts'
import { transition } from '../engine/lifecycle.ts'
import type { Located } from '../runtime/repositories.ts'
import { renderFailure } from '../runtime/package-service.ts'
import type { PackageService } from '../runtime/package-service.ts'
import { asStatusError } from './status-error.ts'
import { keptMetadata, resourcesObject } from '../runtime/revision-object.ts'

const resource = { group: porchGroup, plural: 'packagerevisionresources', kind: 'PackageRevisionResources' }

/** Packages that a list reads at a time. */
const readAhead = 32

/** The storage. Revisions are created and deleted as PackageRevisions. */
export class ResourcesStorage implements RestStorage {
  readonly #service: PackageService

  constructor(service: PackageService) {
    this.#service = service
  }

  async get(key: StorageKey, signal: AbortSignal): Promise<KubeObject | undefined> {
    await this.#service.repositories.ready(key.namespace, signal)
    const located = this.#service.repositories.revision(key)
    return located === undefined ? undefined : asStatusError(() => this.#object(located), { resource, name: key.name })
  }

  async list(namespace: string | undefined, signal: AbortSignal): Promise<readonly KubeObject[]> {
    await this.#service.repositories.ready(namespace, signal)
    const located = this.#service.repositories
      .list(namespace)
      .flatMap((repository) => [...repository.revisions.values()].map((revision) => ({ repository, revision })))
    const objects: KubeObject[] = []
    for (let at = 0; at < located.length; at += readAhead) {
      signal.throwIfAborted()
      // One revision that cannot be read does not hide the others; its own GET says why.
      const batch = await Promise.all(
        located.slice(at, at + readAhead).map((one) => this.#object(one).catch(() => this.#withoutFiles(one))),
      )
      objects.push(...batch)
    }
    return objects
  }

  validate({ object, old }: StorageReview): void {
    const [after, before] = [object as PackageRevisionResources, old as PackageRevisionResources]
    const errors = (['packageName', 'repository', 'workspaceName'] as const)
      .filter((field) => after.spec[field] !== undefined && after.spec[field] !== before.spec[field])
      .map((field) => fieldErrors.invalid(`spec.${field}`, after.spec[field], 'field is immutable'))
    if (errors.length > 0) throw invalid(resource, after.metadata.name!, errors)
    const located = this.#located(after)
    const refusal = transition(located.revision.lifecycle, located.revision.lifecycle, 'resources')
    if (refusal !== undefined && 'message' in refusal) throw badRequest(refusal.message)
  }

  async update(object: KubeObject, _old: KubeObject, write: StorageWrite): Promise<KubeObject> {
    const located = this.#located(object)
    const { namespace = '', name = '' } = object.metadata
    const { resources } = (object as PackageRevisionResources).spec
    return asStatusError(
      async () => {
        const metadata = keptMetadata(object.metadata)
        const saved = await this.#service.saveResources(located, resources ?? {}, metadata, write)
        const changed = { ...located, revision: saved.revision }
        const state = this.#service.states.get(namespace, name)
        if (saved.failure !== undefined)
          throw renderFailure(
            `Package pushed to remote despite render failure. Details: ${saved.failure}`,
            state.renderStatus ?? { error: '' },
          )
        return this.#object(changed)
      },
      { resource, name },
    )
  }

  watch(listener: (change: StorageChange) => void): Disposable {
    return this.#service.changes.onResources(listener)
  }

  #located({ metadata: { namespace = '', name = '' } }: KubeObject): Located {
    const located = this.#service.repositories.revision({ namespace, name })
    if (located === undefined) throw notFound(resource, name)
    return located
  }

  async #object({ repository, revision }: Located): Promise<KubeObject> {
    const state = this.#service.states.get(repository.settings.namespace, revision.name)
    return resourcesObject(repository, revision, await repository.files(revision), state)
  }

  #withoutFiles({ repository, revision }: Located): KubeObject {
    const state = this.#service.states.get(repository.settings.namespace, revision.name)
    return resourcesObject(repository, revision, new Map(), state)
  }
}
