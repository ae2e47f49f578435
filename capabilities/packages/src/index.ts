// Public API of @fairlead/packages.
export type { PackageFiles } from './engine/package-files.ts'
export { PackageError } from './engine/package-error.ts'
export type { PackageErrorCode } from './engine/package-error.ts'
export type { FunctionOutput, FunctionReference, FunctionResult, FunctionRunner } from './engine/function-runner.ts'

// git
export { GitError } from './git/git-error.ts'
export type { GitErrorCode } from './git/git-error.ts'
export { fetchPackage, GitRepository } from './git/repository.ts'
export type { FetchedPackage, RefCommit } from './git/repository.ts'
export type { RefChange } from './git/ref-updates.ts'
export type { GitCredentials, GitRemote } from './git/remote.ts'

// Kptfile
export { editKptfile, parseKptfile } from './engine/kptfile/kptfile.ts'
export type { Kptfile, KptFunction, Pipeline } from './engine/kptfile/kptfile.ts'

// revisions
export { enforcesGates, transition, unmetGates } from './engine/lifecycle.ts'
export type { Lifecycle, LifecycleVerb, TransitionError } from './engine/lifecycle.ts'
export {
  deletionProposedBranch,
  draftBranch,
  nextRevision,
  overlappingPackage,
  packageRevisionName,
  proposedBranch,
  revisionTag,
} from './engine/names.ts'
export type { RevisionKey } from './engine/names.ts'

// updates
export { updatePackage } from './engine/update/update-package.ts'
export { updateRenderedPackage } from './engine/update/rendered-update.ts'
export type { RenderedUpdate, RenderedVersion, RenderVersion } from './engine/update/rendered-update.ts'
export type { PackageUpdate, UpdatedPackage, UpdateStrategy } from './engine/update/update-package.ts'
export type { ConflictPolicy, MergeConflict } from './engine/merge3/conflict.ts'

// render
export { renderPackage } from './engine/render/render-package.ts'
export type { RenderOptions, RenderOutcome } from './engine/render/render-package.ts'
export { evaluateFunction } from './engine/render/evaluate-function.ts'
export type { EvaluateOptions, Evaluation } from './engine/render/evaluate-function.ts'
export { failureMessage } from './engine/render/failure-message.ts'
export { withRenderStatus } from './engine/render/status-file.ts'
export { functionOf } from './functions/functions.ts'

// capability
export { packages } from './capability.ts'
export {
  configGroup,
  latestLabel,
  PackageRevisionKind,
  PackageRevisionPreviewKind,
  PackageRevisionResourcesKind,
  porchGroup,
  RepositoryKind,
} from './api.ts'
export type {
  Lock,
  PackageRevision,
  PackageRevisionPreview,
  PackageRevisionResources,
  PorchPackage,
  RenderReport,
  Repository,
  Task,
} from './api.ts'

// resources of files
export { editResources, resourcesIn } from './engine/yaml/resource-edit.ts'
export type { ResourceEdit } from './engine/yaml/resource-edit.ts'
export { isResourceFile } from './engine/yaml/yaml-file.ts'
export { describeConflict } from './engine/merge3/conflict.ts'
export { fileChanges, formatChanges } from './engine/diff/file-changes.ts'
export type { FileChange } from './engine/diff/file-changes.ts'
