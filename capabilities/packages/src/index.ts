// Public API of @fairlead/packages.
export type { PackageFiles } from './engine/package-files.ts'
export type { FunctionOutput, FunctionReference, FunctionResult, FunctionRunner } from './engine/function-runner.ts'
