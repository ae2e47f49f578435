// Resolves the patterns of one request. A substituted value is never resolved again.
import { isJsonObject, ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { ActionMap } from '../maps/action-map.ts'
import { partFor } from '../maps/merge.ts'
import type { MergedMap } from '../maps/merge.ts'
import type { RunSnippet } from '../maps/snippet.ts'
import { PatternError, parsePattern } from './pattern.ts'
import type { Pattern, PatternPart } from './pattern.ts'

/** Calls a built-in function. Rejects with PatternError or with a StatusError of the API server. */
export type CallFunction = (name: string, args: readonly string[]) => Promise<string>

/** The values that patterns are resolved with. */
export interface PatternScope {
  readonly resource: JsonObject
  readonly merged: Pick<MergedMap, 'parts'>
  /** Returns the data of a ConfigMap in kAppNav's namespace. */
  readonly globalMap: (name: string) => Promise<JsonObject | undefined>
  /** Inputs of the user; undefined for patterns without inputs. */
  readonly inputs: Readonly<Record<string, string>> | undefined
  readonly runSnippet: RunSnippet
  readonly callFunction: CallFunction
}

/** The result: `value`, or the string with the `${x}` that have no source left in it. */
export type Resolved = { readonly value: string } | { readonly unresolved: string }

/** Maximum length of a result, in characters. */
const maxLength = 1_048_576
/** Maximum number of segments resolved in one request, including those of variables and arguments. */
const maxSteps = 10_000

/** Resolves the patterns of one request; caches the values of variables. */
export class PatternResolver {
  readonly #scope: PatternScope
  readonly #variables = new Map<string, string>()
  #steps = 0
  #cycles = 0

  /** Creates a resolver for a scope. */
  constructor(scope: PatternScope) {
    this.#scope = scope
  }

  /** Resolves a pattern of an action that the map `definedIn` defines. Throws PatternError. */
  async resolve(pattern: string | Pattern, definedIn?: ActionMap): Promise<Resolved> {
    return this.#pattern(typeof pattern === 'string' ? parsePattern(pattern) : pattern, definedIn, [])
  }

  /** Resolves a pattern completely. Throws PatternError. */
  async resolveWhole(pattern: string | Pattern, definedIn?: ActionMap): Promise<string> {
    return whole(await this.resolve(pattern, definedIn))
  }

  async #pattern(pattern: Pattern, definedIn: ActionMap | undefined, within: readonly string[]): Promise<Resolved> {
    let text = ''
    let isUnresolved = false
    for (const part of pattern) {
      if (part.source === 'none') isUnresolved = true
      text +=
        part.source === 'literal'
          ? part.text
          : part.source === 'none'
            ? part.raw
            : await this.#part(part, definedIn, within)
      if (text.length > maxLength)
        throw new PatternError('TooLarge', `the result is longer than ${maxLength} characters`)
    }
    return isUnresolved ? { unresolved: text } : { value: text }
  }

  async #part(
    part: Exclude<PatternPart, { source: 'literal' | 'none' }>,
    definedIn: ActionMap | undefined,
    within: readonly string[],
  ): Promise<string> {
    if (++this.#steps > maxSteps) throw new PatternError('TooLarge', `resolving takes more than ${maxSteps} steps`)
    const { resource, globalMap, inputs, merged, runSnippet, callFunction } = this.#scope
    switch (part.source) {
      case 'resource':
        return scalar(
          part.raw,
          part.path.reduce<JsonValue | undefined>(
            (value, name) => (isJsonObject(value) ? ownValue(value, name) : undefined),
            resource,
          ),
        )
      case 'builtin':
      case 'global': {
        const data = await globalMap(part.map)
        const value = data && ownValue(data, part.key)
        if (typeof value === 'string') return value
        throw noValue(
          part.raw,
          data === undefined
            ? `ConfigMap "${part.map}" does not exist in kAppNav's namespace`
            : `ConfigMap "${part.map}" has no key "${part.key}"`,
        )
      }
      case 'input':
        if (inputs !== undefined && Object.hasOwn(inputs, part.name)) return inputs[part.name]!
        throw noValue(part.raw, 'the user gave no such input')
      case 'var':
        return this.#variable(part, definedIn, within)
      case 'snippet': {
        const source = partFor(merged, definedIn, 'snippets', part.name)
        if (typeof source !== 'string') throw noValue(part.raw, `snippet "${part.name}" does not exist`)
        const args = await this.#arguments(part.args, definedIn, within)
        try {
          return await runSnippet(source, args)
        } catch (error) {
          throw new PatternError('SnippetFailed', `snippet "${part.name}": ${(error as Error).message}`, {
            cause: error,
          })
        }
      }
      case 'func':
        return callFunction(part.name, await this.#arguments(part.args, definedIn, within))
    }
  }

  async #arguments(
    patterns: readonly Pattern[],
    definedIn: ActionMap | undefined,
    within: readonly string[],
  ): Promise<readonly string[]> {
    const args: string[] = []
    for (const pattern of patterns) args.push(whole(await this.#pattern(pattern, definedIn, within)))
    return args
  }

  /** Uses the default on any failure: an unknown name, a cycle, a segment without a value. */
  async #variable(
    part: Extract<PatternPart, { source: 'var' }>,
    definedIn: ActionMap | undefined,
    within: readonly string[],
  ): Promise<string> {
    const key = `${definedIn === undefined ? '' : `${definedIn.namespace}/${definedIn.name}`} ${part.name}`
    const cached = this.#variables.get(key)
    if (cached !== undefined) return cached
    const cycles = this.#cycles
    try {
      if (within.includes(part.name)) {
        this.#cycles++
        throw new PatternError(
          'Cycle',
          `variable "${part.name}" refers to itself: ${[...within, part.name].join(' -> ')}`,
        )
      }
      const pattern = partFor(this.#scope.merged, definedIn, 'variables', part.name)
      if (pattern === undefined) throw noValue(part.raw, `variable "${part.name}" does not exist`)
      const value =
        typeof pattern === 'string'
          ? whole(await this.#pattern(parsePattern(pattern), definedIn, [...within, part.name]))
          : scalar(part.raw, pattern)
      // The value of a variable in a cycle depends on where the cycle was entered.
      if (this.#cycles === cycles) this.#variables.set(key, value)
      return value
    } catch (error) {
      if (part.default === undefined || (error instanceof PatternError && error.code === 'TooLarge')) throw error
      return part.default
    }
  }
}

/** Returns the value of a completely resolved pattern. Throws PatternError `NotResolved`. */
export function whole(resolved: Resolved): string {
  if ('value' in resolved) return resolved.value
  throw new PatternError('NotResolved', `"${resolved.unresolved.slice(0, 200)}" contains a \${…} without a source`)
}

function scalar(raw: string, value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  throw noValue(
    raw,
    value === undefined ? 'the resource has no such field' : 'the field is not a string, number or boolean',
  )
}

function noValue(raw: string, why: string): PatternError {
  return new PatternError('NoValue', `"${raw.slice(0, 200)}" has no value: ${why}`)
}
