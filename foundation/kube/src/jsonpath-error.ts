// The error of JSONPath templates and paths.

/**
 * Thrown for a JSONPath that cannot be parsed or run:
 * - `InvalidJsonPath`: the syntax is invalid, or a filter compares values of types that do not compare.
 * - `JsonPathNotFound`: the value does not have the field or index.
 * - `JsonPathTooMany`: the path finds more values, or prints more characters, than the limit.
 */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError'
  readonly code: 'InvalidJsonPath' | 'JsonPathNotFound' | 'JsonPathTooMany'

  constructor(code: JsonPathError['code'], message: string) {
    super(message)
    this.code = code
  }
}
