// Errors of the generator that a user can cause.

/** Stable codes of {@link GeneratorError}. */
export type GeneratorErrorCode = 'InvalidModel' | 'InvalidConfig' | 'InvalidReference' | 'CyclicShape'

/**
 * A model or a configuration from which nothing can be generated. The message names the place and what to do.
 * - `InvalidModel`: the model is not a Smithy JSON AST, or names a shape that it does not define.
 * - `InvalidConfig`: the configuration has an unknown key, a value of a wrong type, or names what the model lacks.
 * - `InvalidReference`: a reference leads to no field or to no string, or its name collides with another field.
 * - `CyclicShape`: a shape contains itself; a schema cannot.
 */
export class GeneratorError extends Error {
  readonly code: GeneratorErrorCode

  constructor(code: GeneratorErrorCode, message: string) {
    super(message)
    this.name = 'GeneratorError'
    this.code = code
  }
}
