// PackageRevisionPreviews: the files that a task would make. A review, as SubjectAccessReviews are: nothing is stored.
import type { RestStorage, StorageReview, StorageWrite } from '@fairlead/controller'
import { fieldErrors, invalid } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { porchGroup } from '../api.ts'
import type { PackageRevisionPreview } from '../api.ts'
import { packageNameError } from '../engine/names.ts'
import type { PackageService } from '../runtime/package-service.ts'
import { syncedRepository } from './package-revision-storage.ts'
import { asStatusError } from './status-error.ts'

const resource = { group: porchGroup, plural: 'packagerevisionpreviews', kind: 'PackageRevisionPreview' }

/** The storage. A task reads what its caller may read, as at the creation of a revision. */
export class PreviewStorage implements RestStorage {
  readonly #service: PackageService

  constructor(service: PackageService) {
    this.#service = service
  }

  validate({ object }: StorageReview): void {
    const { metadata, spec } = object as PackageRevisionPreview
    const name = spec.packageName
    const error = packageNameError(name)
    const errors = error === undefined ? [] : [fieldErrors.invalid('spec.packageName', name, error)]
    if ((spec.tasks?.length ?? 0) > 1)
      errors.push(
        fieldErrors.invalid('spec.tasks', spec.tasks as never, 'a package revision is created by one task at most'),
      )
    if (errors.length > 0) throw invalid(resource, metadata.name ?? '', errors)
  }

  async create(object: KubeObject, write: StorageWrite): Promise<KubeObject> {
    const { spec } = object as PackageRevisionPreview
    const { namespace = '' } = object.metadata
    const repository = await syncedRepository(this.#service, { namespace, name: spec.repository }, write.signal)
    const status = await asStatusError(() => this.#service.preview(repository, spec, write))
    return { ...object, status }
  }
}
