// The error that names file and line.
import { CommandError } from './command-error.ts'

/** A file cannot be read, or a document in it is no valid manifest. The message begins with `file:line: `. */
export class ManifestError extends CommandError {
  readonly code = 'InvalidManifest'
  readonly file: string
  /** Line of the document or of the syntax error, from 1; 0 when the file itself cannot be read. */
  readonly line: number

  /** `message` without the position. */
  constructor(file: string, line: number, message: string, options?: ErrorOptions & { readonly exitCode?: number }) {
    super(`${line > 0 ? `${file}:${line}` : file}: ${message}`, options?.exitCode, options)
    this.name = 'ManifestError'
    this.file = file
    this.line = line
  }
}
