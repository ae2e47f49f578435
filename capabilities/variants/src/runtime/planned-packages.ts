// A dry run on the packages of a server: records what a reconcile would write, and writes nothing.
import type { PackageRevision, PackageRevisionResources, Pipeline, Task } from '@fairlead/packages'
import { packageRevisionName } from '@fairlead/packages'
import type { PackageVariant } from '../api.ts'
import type { PackageText } from '../engine/mutation/package-text.ts'
import type { RevisionAction } from '../engine/variant/downstream.ts'
import type { PackageClient, Packages, Preview } from './package-client.ts'

/** A draft that the reconcile would create or update. */
export interface PlannedDraft {
  readonly name: string
  readonly isNew: boolean
  readonly reason: string
  readonly before: PackageText
  /** The content after the pipeline of the package has run. */
  readonly after: PackageText
  /** The error message of the pipeline, if it fails. */
  readonly failure: string | undefined
}

/** Records the plan of one PackageVariant. */
export class PlannedPackages implements Packages {
  readonly drafts: PlannedDraft[] = []
  readonly actions: RevisionAction[] = []
  readonly #packages: PackageClient
  readonly #variant: PackageVariant

  constructor(packages: PackageClient, variant: PackageVariant) {
    this.#packages = packages
    this.#variant = variant
  }

  preview(task: Task): Promise<Preview> {
    return this.#packages.preview(task)
  }

  runOnce(resources: PackageText, functions: Pipeline): Promise<Preview> {
    return this.#packages.runOnce(resources, functions)
  }

  resources(name: string): Promise<PackageRevisionResources> {
    return this.#packages.resources(name)
  }

  async createDraft(
    workspaceName: string,
    task: Task,
    resources: PackageText,
    reason: string,
  ): Promise<PackageRevision> {
    const { downstream } = this.#variant.spec
    const spec = { repository: downstream.repo, packageName: downstream.package, workspaceName }
    const name = packageRevisionName(spec)
    const source = task.upgrade?.localPackageRevisionRef?.name ?? task.edit?.sourceRef?.name
    const before = source === undefined ? {} : (await this.resources(source)).spec.resources
    await this.#record({ name, isNew: true, reason, before }, resources)
    const metadata = { name, namespace: this.#variant.metadata.namespace }
    return {
      apiVersion: 'porch.kpt.dev/v1alpha1',
      kind: 'PackageRevision',
      metadata,
      spec: { ...spec, lifecycle: 'Draft', tasks: [task] },
    }
  }

  async saveDraft(read: PackageRevisionResources, resources: PackageText, reason: string): Promise<void> {
    await this.#record({ name: read.metadata.name!, isNew: false, reason, before: read.spec.resources }, resources)
  }

  async act(_revision: PackageRevision, actions: readonly RevisionAction[]): Promise<void> {
    this.actions.push(...actions)
    await Promise.resolve()
  }

  async #record(draft: Omit<PlannedDraft, 'after' | 'failure'>, files: PackageText): Promise<void> {
    const { resources: after = files, failure } = await this.#packages.render(files)
    this.drafts.push({ ...draft, after, failure })
  }
}
