// Public API of @fairlead/packages.
export type { PackageFiles } from './engine/package-files.ts'
export type { FunctionOutput, FunctionReference, FunctionResult, FunctionRunner } from './engine/function-runner.ts'
export { GitError } from './git/git-error.ts'
export type { GitErrorCode } from './git/git-error.ts'
export { fetchPackage, GitRepository } from './git/repository.ts'
export type { FetchedPackage, RefChange, RefCommit } from './git/repository.ts'
export type { GitCredentials, GitRemote } from './git/remote.ts'
