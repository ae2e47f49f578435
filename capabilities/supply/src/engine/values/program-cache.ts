// Compiled CEL expressions of one environment.
import { CelCompileError, compile } from '@fairlead/kube/cel'
import type { CelEnvironment, CelProgram } from '@fairlead/kube/cel'

/** Expressions that are cached; the oldest is evicted first. */
const cacheSize = 500

/** The cache. */
export class ProgramCache {
  readonly #environment: CelEnvironment
  readonly #programs = new Map<string, CelProgram | CelCompileError>()

  constructor(environment: CelEnvironment) {
    this.#environment = environment
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
      return compile(expression, this.#environment)
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      return error
    }
  }
}
