// What can go wrong with a JSONPath.

/**
 * A JSONPath that gives nothing:
 * - `InvalidJsonPath`: the text is no path, or compares what cannot be compared.
 * - `JsonPathNotFound`: the value has nothing there.
 * - `JsonPathTooMany`: the path finds more values than may be looked at.
 */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError'
  readonly code: 'InvalidJsonPath' | 'JsonPathNotFound' | 'JsonPathTooMany'

  constructor(code: JsonPathError['code'], message: string) {
    super(message)
    this.code = code
  }
}
