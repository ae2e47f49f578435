// A hook that is a CEL expression: no server, no rights, bounded steps (specs/map.md §3).
import type { JsonValue } from '@fairlead/kube'
import type { CelProgram } from '@fairlead/kube/cel'
import { CelBudgetError, CelCompileError, CelError, compile, listOf, toJson, types } from '@fairlead/kube/cel'
import type { Hook, HookCall, HookName } from '../engine/hook.ts'
import { hookRequest } from '../engine/request.ts'
import type { ResponseBody } from '../engine/response.ts'

/**
 * An error of an expression of a MapController. The message names the field of the spec.
 * - `InvalidExpression`: it does not compile; nothing of the controller runs until it is corrected.
 * - `ExpressionFailed`: it failed, or exceeded its cost limit, for one input.
 */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
  readonly code: 'InvalidExpression' | 'ExpressionFailed'

  constructor(code: ExpressionError['code'], message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}

const variables = {
  controller: types.dyn,
  parent: types.dyn,
  mapKey: types.string,
  outputs: types.dyn,
  related: types.dyn,
}

/** A {@link Hook} that evaluates an expression. Its result is the list of outputs. */
export class ExpressionHook implements Hook {
  readonly strict = false
  readonly #name: HookName
  readonly #program: CelProgram

  /** Checks the expression. Throws ExpressionError `InvalidExpression`. */
  constructor(name: HookName, expression: string) {
    this.#name = name
    try {
      this.#program = compile(
        expression,
        { variables: name === 'map' ? { ...variables, input: types.dyn } : variables, now: true },
        listOf(types.dyn),
      )
    } catch (error) {
      if (error instanceof CelCompileError)
        throw new ExpressionError('InvalidExpression', `spec.hooks.${name}.expression: ${error.message}`, error)
      throw error
    }
  }

  /** Throws ExpressionError `ExpressionFailed`. */
  async call({ facts, now }: HookCall): Promise<ResponseBody> {
    const request = hookRequest({ ...facts, version: 'v1', trim: 'managedFields' })
    try {
      const outputs = toJson(this.#program.evaluate({ related: {}, ...request }, { now })) as JsonValue
      return { value: { outputs }, duplicates: [] }
    } catch (error) {
      if (error instanceof CelError || error instanceof CelBudgetError) {
        throw new ExpressionError('ExpressionFailed', `spec.hooks.${this.#name}.expression: ${error.message}`, error)
      }
      throw error
    }
  }
}
