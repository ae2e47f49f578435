// The packages of a namespace through the Kubernetes API: previews, drafts, and changes of revisions.
import type { Client } from '@fairlead/client'
import { isNotFound } from '@fairlead/kube'
import type { OwnerReference } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionPreviewKind, PackageRevisionResourcesKind } from '@fairlead/packages'
import type {
  PackageRevision,
  PackageRevisionPreview,
  PackageRevisionResources,
  Pipeline,
  Task,
} from '@fairlead/packages'
import { apiGroup } from '../api.ts'
import type { PackageVariant } from '../api.ts'
import type { RevisionAction } from '../engine/variant/downstream.ts'
import type { PackageText } from '../engine/mutation/package-text.ts'

const apiVersion = PackageRevisionKind.apiVersion

/** The result of a preview. */
export type Preview = NonNullable<PackageRevisionPreview['status']>

/** The packages of a variant's namespace: those of a server, or a plan in place of the writes. */
export interface Packages {
  /** Returns the files that a task would make. */
  preview(task: Task): Promise<Preview>
  /** Returns the files after functions that run once. */
  runOnce(resources: PackageText, functions: Pipeline): Promise<Preview>
  /** Returns the files of a revision. */
  resources(name: string): Promise<PackageRevisionResources>
  /** Creates a draft with these files: task, changes and render are one save. */
  createDraft(workspaceName: string, task: Task, resources: PackageText, reason: string): Promise<PackageRevision>
  /** Replaces the files of a draft, if it still is as it was read. */
  saveDraft(read: PackageRevisionResources, resources: PackageText, reason: string): Promise<void>
  /** Carries out the actions of one revision: a delete, or one update for all others. */
  act(revision: PackageRevision, actions: readonly RevisionAction[]): Promise<void>
}

/** The packages of a server. */
export class PackageClient implements Packages {
  readonly #client: Client
  readonly #variant: PackageVariant
  readonly #namespace: string

  constructor(client: Client, variant: PackageVariant) {
    this.#client = client
    this.#variant = variant
    this.#namespace = variant.metadata.namespace!
  }

  preview(task: Task): Promise<Preview> {
    return this.#preview({ tasks: [task] })
  }

  runOnce(resources: PackageText, functions: Pipeline): Promise<Preview> {
    return this.#preview({ resources, functions })
  }

  /** Returns the files after the pipeline of the Kptfile. */
  render(resources: PackageText): Promise<Preview> {
    return this.#preview({ resources, render: true })
  }

  resources(name: string): Promise<PackageRevisionResources> {
    return this.#client.get(PackageRevisionResourcesKind, { namespace: this.#namespace, name })
  }

  createDraft(workspaceName: string, task: Task, resources: PackageText): Promise<PackageRevision> {
    const { labels, annotations, downstream } = this.#variant.spec
    return this.#client.create<PackageRevision>({
      apiVersion,
      kind: PackageRevisionKind.kind,
      metadata: {
        namespace: this.#namespace,
        ownerReferences: [this.#owner],
        ...(labels !== undefined && { labels }),
        ...(annotations !== undefined && { annotations }),
      },
      spec: {
        packageName: downstream.package,
        repository: downstream.repo,
        workspaceName,
        lifecycle: 'Draft',
        tasks: [task],
        resources,
      },
    })
  }

  async saveDraft(read: PackageRevisionResources, resources: PackageText): Promise<void> {
    await this.#client.update({ ...read, spec: { ...read.spec, resources } })
  }

  async act(revision: PackageRevision, actions: readonly RevisionAction[]): Promise<void> {
    const { uid, resourceVersion, name } = revision.metadata
    if (actions.some(({ op }) => op === 'delete')) {
      try {
        await this.#client.delete(
          PackageRevisionKind,
          { namespace: this.#namespace, name: name! },
          { preconditions: { uid, resourceVersion } },
        )
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
      return
    }
    const changed = actions.reduce((object, action) => this.#changed(object, action), revision)
    if (changed !== revision) await this.#client.update(changed)
  }

  #changed(revision: PackageRevision, action: RevisionAction): PackageRevision {
    const { metadata, spec } = revision
    const others = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== this.#owner.uid)
    switch (action.op) {
      case 'setLifecycle':
        return { ...revision, spec: { ...spec, lifecycle: action.to } }
      case 'removeOwnerReference':
        return { ...revision, metadata: { ...metadata, ownerReferences: others } }
      case 'adopt': {
        const { labels, annotations } = this.#variant.spec
        return {
          ...revision,
          metadata: {
            ...metadata,
            ownerReferences: [...others, this.#owner],
            labels: { ...metadata.labels, ...labels },
            annotations: { ...metadata.annotations, ...annotations },
          },
        }
      }
      case 'delete':
        return revision
      default:
        throw new Error(`unknown action ${String(action satisfies never)}`)
    }
  }

  get #owner(): OwnerReference {
    const { name, uid } = this.#variant.metadata
    return { apiVersion: `${apiGroup}/v1alpha1`, kind: 'PackageVariant', name: name!, uid: uid!, controller: true }
  }

  async #preview(spec: Omit<PackageRevisionPreview['spec'], 'repository' | 'packageName'>): Promise<Preview> {
    const { downstream } = this.#variant.spec
    const answer = await this.#client.create<PackageRevisionPreview>({
      apiVersion,
      kind: PackageRevisionPreviewKind.kind,
      metadata: { namespace: this.#namespace },
      spec: { repository: downstream.repo, packageName: downstream.package, ...spec },
    })
    return answer.status ?? {}
  }
}
