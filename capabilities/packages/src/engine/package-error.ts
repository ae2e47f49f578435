// The error of this package: what a user can cause, with a stable code.

/** Stable codes of PackageError. */
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
