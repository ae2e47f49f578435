// The error of this package: what a user can cause, with a stable code.

/**
 * Stable codes of PackageError:
 * - `InvalidKptfile`: the Kptfile cannot be decoded, or its pipeline or upstream is invalid.
 * - `InvalidYaml`: a file of the package, or the output of a function, is not valid YAML.
 * - `InvalidPackage`: the package cannot be read, rendered or written as it is: a folder without a Kptfile, a file
 *   beyond a limit, a path outside the package, or an `exec` command that does not parse.
 * - `DuplicateResource`: one version of the package holds the same resource twice.
 * - `MergeConflict`: upstream and the local package changed the same field, resource or file and the conflict policy is
 *   `fail`, or both added the same subpackage.
 * - `LocalChanges`: the `fast-forward` strategy found files that differ from the upstream version they came from.
 * - `UnknownFunction`: the function is not built in, and its image or program cannot be run.
 * - `FunctionFailed`: a function of the pipeline reported an error.
 * - `FunctionTimeout`: a function did not finish within its time limit.
 * - `FunctionMemory`: a function needed more memory, or wrote more output, than its limit.
 */
export type PackageErrorCode =
  | 'InvalidKptfile'
  | 'InvalidYaml'
  | 'InvalidPackage'
  | 'DuplicateResource'
  | 'MergeConflict'
  | 'LocalChanges'
  | 'UnknownFunction'
  | 'FunctionFailed'
  | 'FunctionTimeout'
  | 'FunctionMemory'

/** The position that an error names. */
export interface PackagePosition {
  /** File below the package folder. */
  readonly path?: string
  /** Line from 1. */
  readonly line?: number
}

/** Something that a user can cause and fix; the message begins with `path:line: ` where a file is at fault. */
export class PackageError extends Error {
  readonly code: PackageErrorCode
  readonly path: string | undefined
  readonly line: number | undefined

  constructor(code: PackageErrorCode, message: string, position: PackagePosition = {}, options?: ErrorOptions) {
    const { path, line } = position
    super(path === undefined ? message : `${path}${line === undefined ? '' : `:${line}`}: ${message}`, options)
    this.name = 'PackageError'
    this.code = code
    this.path = path
    this.line = line
  }
}
