// The types of `config.porch.kpt.dev` and `porch.kpt.dev`, as this package reads and writes them.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { Condition, KubeObject } from '@fairlead/kube'
import type { Pipeline } from './engine/kptfile/kptfile.ts'
import type { Lifecycle } from './engine/lifecycle.ts'
import type { ConflictPolicy, MergeConflict } from './engine/merge3/conflict.ts'

/** API group of Repositories. */
export const configGroup = 'config.porch.kpt.dev'

/** API group of package revisions. */
export const porchGroup = 'porch.kpt.dev'

/** A git repository with packages. */
export interface Repository extends KubeObject {
  readonly spec?: {
    readonly type?: string
    readonly deployment?: boolean
    readonly description?: string
    readonly content?: string
    readonly sync?: { readonly schedule?: string; readonly runOnceAt?: string }
    /** Without `git.repo` the repository is managed: it lives in the data folder of the server. */
    readonly git?: RepositoryGit
  }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly packageCount?: number
    readonly gitCommitHash?: string
    readonly lastFullSyncTime?: string
    readonly nextFullSyncTime?: string
    readonly observedGeneration?: number
    readonly observedRunOnceAt?: string
  }
}

/** The git part of a Repository. */
export interface RepositoryGit {
  readonly repo?: string
  /** `main` when left out. */
  readonly branch?: string
  readonly createBranch?: boolean
  /** Folder that holds the packages; the root when left out. */
  readonly directory?: string
  readonly secretRef?: { readonly name: string }
  readonly author?: string
  readonly email?: string
}

/** A reference to a package revision of the same namespace. */
export interface RevisionReference {
  readonly name: string
}

/** A package in a git repository, registered or not. */
export interface GitPackage {
  readonly repo: string
  readonly ref: string
  readonly directory: string
  readonly secretRef?: { readonly name: string }
}

/** The origin of a package revision. */
export interface Task {
  readonly type: string
  readonly init?: {
    readonly subpackage?: string
    readonly description?: string
    readonly keywords?: readonly string[]
    readonly site?: string
  }
  readonly clone?: {
    readonly upstreamRef?: {
      readonly type?: string
      readonly git?: GitPackage
      readonly upstreamRef?: RevisionReference
    }
  }
  readonly edit?: { readonly sourceRef?: RevisionReference }
  readonly upgrade?: {
    readonly oldUpstreamRef?: RevisionReference
    readonly newUpstreamRef?: RevisionReference
    readonly localPackageRevisionRef?: RevisionReference
    readonly strategy?: string
    /** The side that decides what both changed; `upstream` when left out. With `fail` no revision is created. */
    readonly onConflict?: ConflictPolicy
  }
}

/** A place in a git repository. */
export interface Lock {
  readonly type?: string
  readonly git?: {
    readonly repo?: string
    readonly directory?: string
    readonly ref?: string
    readonly commit?: string
  }
}

/** A revision of a package. */
export interface PackageRevision extends KubeObject {
  readonly spec: {
    readonly packageName: string
    readonly repository: string
    readonly workspaceName: string
    /** Absent before publication, -1 for the content of the branch. Clients may also write `v1`. */
    readonly revision?: number | string
    readonly lifecycle?: Lifecycle
    readonly tasks?: readonly Task[]
    readonly readinessGates?: readonly { readonly conditionType: string }[]
    readonly packageMetadata?: {
      readonly labels?: Readonly<Record<string, string>>
      readonly annotations?: Readonly<Record<string, string>>
    }
    readonly parent?: RevisionReference
    /** Content by path in place of the files that the task makes. Written at creation, never read. */
    readonly resources?: Readonly<Record<string, string>>
  }
  readonly status?: {
    readonly upstreamLock?: Lock
    readonly selfLock?: Lock
    readonly publishedBy?: string
    readonly publishTimestamp?: string
    readonly deployment?: boolean
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }[]
    /** Everything that upstream and the package both changed, of a revision made by an upgrade: the first 50. */
    readonly conflicts?: readonly MergeConflict[]
  }
}

/** Type of the condition of a revision made by an upgrade: True without conflicts. */
export const upstreamMergedCondition = 'UpstreamMerged'

/** The outcome of the functions of a render. */
export interface RenderReport {
  readonly result?: {
    readonly apiVersion?: string
    readonly kind?: string
    readonly metadata?: { readonly name?: string }
    readonly exitCode: number
    readonly items?: readonly object[]
  }
  readonly error: string
}

/** The files of a package revision. */
export interface PackageRevisionResources extends KubeObject {
  readonly spec: {
    readonly packageName: string
    readonly repository: string
    readonly workspaceName: string
    readonly revision?: number
    readonly resources: Readonly<Record<string, string>>
  }
  readonly status?: { readonly renderStatus?: RenderReport }
}

/** Asks for the files that a task would make. Nothing is stored. */
export interface PackageRevisionPreview extends KubeObject {
  readonly spec: {
    readonly packageName: string
    readonly repository: string
    readonly tasks?: readonly Task[]
    /** Content by path in place of the files that the task makes. */
    readonly resources?: Readonly<Record<string, string>>
    /** Functions that run once, before the pipeline of the Kptfile. */
    readonly functions?: Pipeline
    /** Runs the pipeline of the Kptfile. */
    readonly render?: boolean
  }
  readonly status?: {
    readonly resources?: Readonly<Record<string, string>>
    readonly conflicts?: readonly MergeConflict[]
    /** Results of the last functions that ran. */
    readonly renderStatus?: RenderReport
    /** The message of the functions that failed. */
    readonly failure?: string
  }
}

/** A package: all revisions of one path of a repository. */
export interface PorchPackage extends KubeObject {
  readonly spec: { readonly packageName: string; readonly repository: string }
  readonly status?: { readonly latestRevision?: number }
}

/** Kind of {@link Repository}. */
export const RepositoryKind: Kind<Repository> = kind(`${configGroup}/v1alpha1`, 'Repository')

/** Kind of {@link PackageRevision}. */
export const PackageRevisionKind: Kind<PackageRevision> = kind(`${porchGroup}/v1alpha1`, 'PackageRevision')

/** Kind of {@link PackageRevisionResources}. */
export const PackageRevisionResourcesKind: Kind<PackageRevisionResources> = kind(
  `${porchGroup}/v1alpha1`,
  'PackageRevisionResources',
)

/** Kind of {@link PackageRevisionPreview}. */
export const PackageRevisionPreviewKind: Kind<PackageRevisionPreview> = kind(
  `${porchGroup}/v1alpha1`,
  'PackageRevisionPreview',
)

/** Marks the published revision of a package with the highest number. */
export const latestLabel = 'kpt.dev/latest-revision'
