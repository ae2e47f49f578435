// The text files of a package, as PackageRevisionResources hold them.

/** Content by path. */
export type PackageText = Readonly<Record<string, string>>

/** A package that cannot be changed as the variant says; the message names file and field. */
export class MutationError extends Error {
  readonly code = 'MutationFailed'

  constructor(message: string) {
    super(message)
    this.name = 'MutationError'
  }
}
