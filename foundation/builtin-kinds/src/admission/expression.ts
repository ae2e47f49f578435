// An expression of a policy or webhook, compiled once. An expression that does not compile always fails: it was stored
// before it was validated, or by a server of another version.
import { CelCompileError, compile, typeString } from '@fairlead/kube/cel'
import type { CelProgram, CelType } from '@fairlead/kube/cel'
import type { Declarations } from './environment.ts'

/** A compiled expression, or the error message of its compilation. */
export class Expression {
  readonly text: string
  readonly program: CelProgram | undefined
  /** The reason why it cannot run: `compilation failed: …`, `must evaluate to bool …`. */
  readonly problem: string | undefined

  /** `results` are the allowed result types; any by default. */
  constructor(text: string, declarations: Declarations, results?: readonly CelType[]) {
    this.text = text
    try {
      const program = compile(text, { variables: declarations, kubernetes: true })
      this.problem = results === undefined ? undefined : wrongResult(program.type, results)
      this.program = this.problem === undefined ? program : undefined
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      this.program = undefined
      this.problem = error.problem
    }
  }
}

function wrongResult(type: CelType, results: readonly CelType[]): string | undefined {
  const names = results.map(typeString)
  if (names.includes(typeString(type))) return undefined
  return names.length === 1
    ? `must evaluate to ${names[0]} but got ${typeString(type)}`
    : `must evaluate to one of [${names.join(' ')}] but got ${typeString(type)}`
}
