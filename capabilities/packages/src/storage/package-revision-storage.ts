// PackageRevisions, served from git.
import type {
  RestStorage,
  StorageChange,
  StorageIdentity,
  StorageKey,
  StoragePage,
  StorageQuery,
  StorageReview,
  StorageWrite,
} from '@fairlead/controller'
import { badRequest, conflict, failure, fieldErrors, forbidden, invalid, jsonEqual, notFound } from '@fairlead/kube'
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { latestLabel, porchGroup } from '../api.ts'
import type { PackageRevision } from '../api.ts'
import { enforcesGates, isPublished, transition, unmetGates } from '../engine/lifecycle.ts'
import type { Lifecycle } from '../engine/lifecycle.ts'
import { overlappingPackage, packageNameError, packageRevisionName, workspaceNameError } from '../engine/names.ts'
import type { PackageRepository } from '../runtime/package-repository.ts'
import { notSynced } from '../runtime/package-repository.ts'
import type { Revision } from '../runtime/revision.ts'
import type { Revisions } from '../runtime/revision-index.ts'
import type { Located } from '../runtime/repositories.ts'
import type { PackageService } from '../runtime/package-service.ts'
import { revisionFields } from './definitions.ts'
import { orderOf, revisionsAfter } from './revision-order.ts'
import { asStatusError } from './status-error.ts'
import { keptMetadata, kptfileOf, packageRevisionObject, revisionUid } from '../runtime/revision-object.ts'

/** The resource, as errors name it. */
export const revisionsResource: { readonly group: string; readonly plural: string; readonly kind: string } = {
  group: porchGroup,
  plural: 'packagerevisions',
  kind: 'PackageRevision',
}

/** Revisions that a page reads at a time. */
const readAhead = 100

/** The storage. */
export class PackageRevisionStorage implements RestStorage {
  readonly #service: PackageService

  constructor(service: PackageService) {
    this.#service = service
  }

  async get(key: StorageKey, signal: AbortSignal): Promise<KubeObject | undefined> {
    await this.#service.repositories.ready(key.namespace, signal)
    const found = this.#service.repositories.revision(key)
    return found === undefined ? undefined : asStatusError(() => this.#object(found))
  }

  /** Returns a page: the objects of a large repository are made for it alone. */
  async page(query: StorageQuery, signal: AbortSignal): Promise<StoragePage> {
    const { namespace, labels, fields, limit, after } = query
    await this.#service.repositories.ready(namespace, signal)
    const left = revisionsAfter(this.#service.repositories.list(namespace), after)
    let remaining = left.reduce((sum, { revisions }) => sum + revisions.length, 0)
    const objects: KubeObject[] = []
    for (const { repository, revisions } of left) {
      for (let at = 0; at < revisions.length; at += readAhead) {
        signal.throwIfAborted()
        const batch = revisions.slice(at, at + readAhead)
        const read = (): Promise<readonly PackageRevision[]> =>
          Promise.all(batch.map((revision) => this.#object({ repository, revision })))
        for (const [index, object] of (await asStatusError(read)).entries()) {
          remaining--
          const valueOf = (field: string): string => fieldOf(object, field)
          if (!labels.matches(object.metadata.labels ?? {}) || !fields.matches(valueOf)) continue
          objects.push(object)
          if (objects.length === limit && remaining > 0)
            return {
              objects,
              next: orderOf(repository, batch[index]!.name),
              ...(labels.isEmpty && fields.isEmpty && { remaining }),
            }
        }
      }
    }
    return { objects }
  }

  identity(object: KubeObject): StorageIdentity {
    const { spec } = object as Partial<PackageRevision>
    const { repository = '', packageName = '', workspaceName = '' } = spec ?? {}
    if (repository === '') throw badRequest('spec.repositoryName is required')
    const name = packageRevisionName({ repository, packageName, workspaceName })
    return { name, uid: revisionUid(object.metadata.namespace ?? '', name) }
  }

  validate(review: StorageReview): void {
    const { operation, object, old, subresource } = review
    if (operation === 'DELETE') return this.#validateDelete(old as PackageRevision)
    const revision = object as PackageRevision
    const name = revision.metadata.name!
    const errors =
      operation === 'CREATE'
        ? createErrors(revision)
        : updateErrors(revision, old as PackageRevision, subresource === 'approval')
    if (errors.length > 0) throw invalid(revisionsResource, name, errors)
  }

  async create(object: KubeObject, write: StorageWrite): Promise<KubeObject> {
    const wanted = object as PackageRevision
    const { namespace = '', name = '' } = object.metadata
    const { spec } = wanted
    const repository = await syncedRepository(this.#service, { namespace, name: spec.repository }, write.signal)
    const check = (revisions: Revisions): void => checkNew(revisions, wanted)
    const state = { metadata: keptMetadata(object.metadata) }
    return asStatusError(
      async () => {
        const revision = await this.#service.createRevision(repository, wanted, state, write, check)
        return this.#object({ repository, revision })
      },
      { resource: revisionsResource, name },
    )
  }

  async update(object: KubeObject, old: KubeObject, write: StorageWrite): Promise<KubeObject> {
    const wanted = object as PackageRevision
    const { namespace = '', name = '' } = object.metadata
    const located = this.#located({ namespace, name })
    const { lifecycle } = (old as PackageRevision).spec
    const next = wanted.spec.lifecycle ?? lifecycle
    if (next === 'Published' && located.revision.lifecycle === 'Proposed') await this.#checkGates(located)
    return asStatusError(
      async () => {
        const fields = { metadata: keptMetadata(object.metadata) }
        const revision = await this.#service.changes.save(located, fields, async () => {
          const moved = { ...located, revision: await this.#move(located, next!, write) }
          return this.#service.savePackageMetadata(moved, wanted, old as PackageRevision, write)
        })
        const changed = { ...located, revision }
        return this.#object(changed)
      },
      { resource: revisionsResource, name },
    )
  }

  async delete(old: KubeObject, write: StorageWrite): Promise<void> {
    const { namespace = '', name = '' } = old.metadata
    const located = this.#located({ namespace, name })
    // The content of git outlives its registration: a namespace that is deleted takes no branch of a remote with it.
    if (this.#service.isReleased(located)) return
    const { repository, revision } = located
    await asStatusError(() => repository.delete(revision, write.user.name), { resource: revisionsResource, name })
    await this.#service.states.delete(namespace, name)
  }

  watch(listener: (change: StorageChange) => void): Disposable {
    return this.#service.changes.onRevisionObjects(listener)
  }

  async #object({ repository, revision }: Located): Promise<PackageRevision> {
    const state = this.#service.states.get(repository.settings.namespace, revision.name)
    return packageRevisionObject(repository, revision, state)
  }

  #located(key: StorageKey): Located {
    const located = this.#service.repositories.revision(key)
    if (located === undefined) throw notFound(revisionsResource, key.name)
    return located
  }

  async #checkGates({ repository, revision }: Located): Promise<void> {
    const { namespace, repository: name, deployment } = repository.settings
    const annotations = this.#service.repositories.object({ namespace, name })?.metadata.annotations
    if (!enforcesGates({ deployment, ...(annotations !== undefined && { annotations }) })) return
    const kptfile = await asStatusError(() => kptfileOf(repository, revision))
    if (kptfile === undefined)
      throw forbidden(
        revisionsResource,
        revision.name,
        'the Kptfile is not valid, so that its readiness gates are unknown',
      )
    const unmet = unmetGates(kptfile.info?.readinessGates ?? [], kptfile.status?.conditions ?? [])
    if (unmet.length > 0)
      throw forbidden(revisionsResource, revision.name, `readiness conditions not met: ${unmet.join(', ')}`)
  }

  #validateDelete(old: PackageRevision): void {
    const { name = '', namespace = '' } = old.metadata
    const located = this.#service.repositories.revision({ namespace, name })
    if (located !== undefined && this.#service.isReleased(located)) return
    const refusal = transition(old.spec.lifecycle!, null, 'delete')
    if (refusal !== undefined && 'message' in refusal) throw forbidden(revisionsResource, name, refusal.message)
    const users = this.#service.downstreamOf(namespace, name)
    if (users.length > 0)
      throw forbidden(
        revisionsResource,
        name,
        `cannot delete package revision, it is referenced as upstream by: ${users.join(', ')}`,
      )
  }

  async #move({ repository, revision }: Located, next: Lifecycle, { user }: StorageWrite): Promise<Revision> {
    if (revision.lifecycle === next) return revision
    if (next === 'Published' && revision.lifecycle === 'Proposed') return repository.publish(revision, user.name)
    if (isPublished(revision.lifecycle)) return repository.setDeletionProposed(revision, next === 'DeletionProposed')
    return repository.setProposed(revision, next === 'Proposed')
  }
}

/** Returns a repository to write to. @throws StatusError 404, 503 */
export async function syncedRepository(
  service: PackageService,
  { namespace, name }: StorageKey,
  signal: AbortSignal,
): Promise<PackageRepository> {
  const { repositories } = service
  await repositories.ready(namespace, signal)
  await service.settled({ namespace, name }, signal)
  const repository = repositories.get({ namespace, name })
  if (repository?.isSynced === true) return repository
  if (repositories.object({ namespace, name }) === undefined)
    throw notFound({ group: 'config.porch.kpt.dev', plural: 'repositories' }, name)
  return asStatusError(() => Promise.reject(notSynced(name)))
}

/** @throws StatusError when a revision may not be created beside those that there are */
function checkNew(existing: Revisions, { spec }: PackageRevision): void {
  const revisions = [...existing.values()]
  const ofPackage = revisions.filter(({ packageName }) => packageName === spec.packageName)
  const type = spec.tasks?.[0]?.type ?? 'init'
  const { repository: name } = spec
  if (ofPackage.some(({ workspace }) => workspace === spec.workspaceName))
    throw conflict(
      revisionsResource,
      packageRevisionName(spec),
      `package revision workspaceNames must be unique; package revision with name ${spec.packageName} in repo ${name} with workspaceName ${spec.workspaceName} already exists`,
    )
  if (type === 'init' && ofPackage.length > 0)
    throw refusal(`package "${spec.packageName}" already exists in repository "${name}"`)
  if (type === 'clone' && ofPackage.length > 0)
    throw refusal(
      `\`clone\` cannot create a new revision for package "${spec.packageName}" that already exists in repo "${name}"; make subsequent revisions using \`copy\``,
    )
  const other = overlappingPackage(
    spec.packageName,
    revisions.map(({ packageName }) => packageName),
  )
  if (other !== undefined)
    throw badRequest(
      `the package ${spec.packageName} cannot be in or around the package ${other}: packages do not nest`,
    )
}

function fieldOf(object: KubeObject, field: string): string {
  if (field === 'metadata.name') return object.metadata.name ?? ''
  if (field === 'metadata.namespace') return object.metadata.namespace ?? ''
  return revisionFields[field]?.(object) ?? ''
}

/** Returns a refusal in the words of Porch, which answers it with a 500. */
function refusal(message: string): Error {
  return failure(409, 'Conflict', `Internal error occurred: ${message}`)
}

function createErrors({ metadata, spec }: PackageRevision): FieldError[] {
  const errors: FieldError[] = []
  if (metadata.labels?.[latestLabel] !== undefined)
    errors.push(fieldErrors.forbidden(labelField, 'label is managed by porch and cannot be set by users'))
  const nameError = packageNameError(spec.packageName ?? '')
  if (nameError !== undefined) errors.push(fieldErrors.invalid('spec.packageName', spec.packageName ?? '', nameError))
  const workspaceError = workspaceNameError(spec.workspaceName ?? '')
  if (workspaceError !== undefined)
    errors.push(fieldErrors.invalid('spec.workspaceName', spec.workspaceName ?? '', workspaceError))
  if (spec.lifecycle !== undefined && spec.lifecycle !== 'Draft')
    errors.push(fieldErrors.invalid('spec.lifecycle', spec.lifecycle, 'value can be only created as Draft'))
  if ((spec.tasks?.length ?? 0) > 1)
    errors.push(
      fieldErrors.invalid('spec.tasks', spec.tasks as never, 'a package revision is created by one task at most'),
    )
  if (spec.revision !== undefined && Number.isNaN(Number(String(spec.revision).replace(/^v/, ''))))
    errors.push(fieldErrors.invalid('spec.revision', spec.revision, 'write a number, or a number after v'))
  return errors
}

const labelField = `metadata.labels.${latestLabel}`

function updateErrors(revision: PackageRevision, old: PackageRevision, isApproval: boolean): readonly FieldError[] {
  const errors: FieldError[] = []
  if (revision.metadata.labels?.[latestLabel] !== old.metadata.labels?.[latestLabel])
    errors.push(fieldErrors.forbidden(labelField, 'label is managed by porch and cannot be modified by users'))
  const from = old.spec.lifecycle!
  const refusal = transition(
    from,
    revision.spec.lifecycle ?? (isApproval ? null : from),
    isApproval ? 'approval' : 'update',
  )
  if (refusal !== undefined && 'errors' in refusal) return [...errors, ...refusal.errors]
  const changed = changedFields(revision.spec as unknown as JsonObject, old.spec as unknown as JsonObject)
  const writable = isPublished(from) ? ['lifecycle'] : ['lifecycle', 'packageMetadata', 'readinessGates']
  for (const field of changed.filter((name) => !writable.includes(name)))
    errors.push(
      fieldErrors.invalid(
        `spec.${field}`,
        undefined,
        isPublished(from) ? 'a published revision never changes' : 'field is immutable',
      ),
    )
  return errors
}

function changedFields(after: JsonObject, before: JsonObject): readonly string[] {
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].filter((name) => {
    const [next, last] = [after[name], before[name]]
    if (name === 'revision') return Number(String(next ?? 0).replace(/^v/, '')) !== Number(last ?? 0)
    // Clients may leave out what is discovered from the package.
    if (next === undefined) return false
    return !jsonEqual(next, last ?? null) && !(last === undefined && isEmpty(next))
  })
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
