// Compiled CEL expressions of one environment.
import { compile } from './compile.ts'
import type { CelEnvironment, CelProgram } from './compile.ts'
import { CelCompileError } from './errors.ts'
import { types } from './types.ts'
import type { CelType } from './types.ts'

/** Expressions that are cached; the oldest is evicted first. */
const cacheSize = 500

/** A bounded cache of compiled expressions, the failed ones included. */
export class ProgramCache {
  readonly #environment: CelEnvironment
  readonly #resultType: CelType
  readonly #programs = new Map<string, CelProgram | CelCompileError>()

  /** Results must be assignable to `resultType`, if given. */
  constructor(environment: CelEnvironment, resultType: CelType = types.dyn) {
    this.#environment = environment
    this.#resultType = resultType
  }

  /** Returns the program of an expression, or the error of one that does not compile. */
  get(expression: string): CelProgram | CelCompileError {
    const known = this.#programs.get(expression)
    if (known !== undefined) return known
    const program = this.#compiled(expression)
    if (this.#programs.size >= cacheSize) this.#programs.delete(this.#programs.keys().next().value as string)
    this.#programs.set(expression, program)
    return program
  }

  #compiled(expression: string): CelProgram | CelCompileError {
    try {
      return compile(expression, this.#environment, this.#resultType)
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      return error
    }
  }
}
