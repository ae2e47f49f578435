// Resolving patterns for one request: each value is put in as it is and never looked at again.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject, ownValue } from '@fairlead/kube'
import type { ActionMap } from '../maps/action-map.ts'
import type { RunSnippet } from '../maps/snippet.ts'
import { partFor } from '../maps/merge.ts'
import type { MergedMap } from '../maps/merge.ts'
import { PatternError, parsePattern } from './pattern.ts'
import type { Pattern, PatternPart } from './pattern.ts'

/** Answers a built-in function. Rejects with PatternError or with an error of the API server. */
export type CallFunction = (name: string, args: readonly string[]) => Promise<string>

/** What patterns are resolved with. */
export interface PatternScope {
  readonly resource: JsonObject
  readonly merged: Pick<MergedMap, 'parts'>
  /** Data of a ConfigMap of kAppNav's namespace. */
  readonly globalMap: (name: string) => Promise<JsonObject | undefined>
  /** What the user put in; undefined where nothing can be put in. */
  readonly inputs: Readonly<Record<string, string>> | undefined
  readonly runSnippet: RunSnippet
  readonly callFunction: CallFunction
}

/** What came out: `value`, or the text with the `${x}` that have no source left in it. */
export type Resolved = { readonly value: string } | { readonly unresolved: string }

/** Texts that come out of any part. */
const maxLength = 1_048_576
/** Parts resolved in one request, those of variables and arguments included. */
const maxSteps = 10_000

/** Resolves the patterns of one request; what variables gave is remembered for its time. */
export class PatternResolver {
  readonly #scope: PatternScope
  readonly #variables = new Map<string, string>()
  #steps = 0
  #cycles = 0

  /** A resolver of patterns in a scope. */
  constructor(scope: PatternScope) {
    this.#scope = scope
  }

  /** Resolves a pattern of an action that `definedIn` defines. Throws PatternError. */
  async resolve(pattern: string | Pattern, definedIn?: ActionMap): Promise<Resolved> {
    return this.#pattern(typeof pattern === 'string' ? parsePattern(pattern) : pattern, definedIn, [])
  }

  /** Resolves a pattern that must leave nothing open. Throws PatternError. */
  async text(pattern: string | Pattern, definedIn?: ActionMap): Promise<string> {
    return whole(await this.resolve(pattern, definedIn))
  }

  async #pattern(pattern: Pattern, definedIn: ActionMap | undefined, within: readonly string[]): Promise<Resolved> {
    let text = ''
    let isOpen = false
    for (const part of pattern) {
      if (part.source === 'none') isOpen = true
      text +=
        part.source === 'literal'
          ? part.text
          : part.source === 'none'
            ? part.raw
            : await this.#part(part, definedIn, within)
      if (text.length > maxLength)
        throw new PatternError('TooLarge', `what comes out is longer than ${maxLength} characters`)
    }
    return isOpen ? { unresolved: text } : { value: text }
  }

  async #part(
    part: Exclude<PatternPart, { source: 'literal' | 'none' }>,
    definedIn: ActionMap | undefined,
    within: readonly string[],
  ): Promise<string> {
    if (++this.#steps > maxSteps) throw new PatternError('TooLarge', `it takes more than ${maxSteps} steps`)
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
            ? `there is no ConfigMap "${part.map}" in kAppNav's namespace`
            : `ConfigMap "${part.map}" has no key "${part.key}"`,
        )
      }
      case 'input':
        if (inputs !== undefined && Object.hasOwn(inputs, part.name)) return inputs[part.name]!
        throw noValue(part.raw, 'nothing was put in')
      case 'var':
        return this.#variable(part, definedIn, within)
      case 'snippet': {
        const source = partFor(merged, definedIn, 'snippets', part.name)
        if (typeof source !== 'string') throw noValue(part.raw, `there is no snippet "${part.name}"`)
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

  /** A default stands in for whatever goes wrong: a name that is not there, a cycle, a value that cannot be had. */
  async #variable(
    part: Extract<PatternPart, { source: 'var' }>,
    definedIn: ActionMap | undefined,
    within: readonly string[],
  ): Promise<string> {
    const known = `${definedIn === undefined ? '' : `${definedIn.namespace}/${definedIn.name}`} ${part.name}`
    const remembered = this.#variables.get(known)
    if (remembered !== undefined) return remembered
    const cycles = this.#cycles
    try {
      if (within.includes(part.name)) {
        this.#cycles++
        throw new PatternError('Cycle', `variable "${part.name}" needs itself: ${[...within, part.name].join(' -> ')}`)
      }
      const pattern = partFor(this.#scope.merged, definedIn, 'variables', part.name)
      if (pattern === undefined) throw noValue(part.raw, `there is no variable "${part.name}"`)
      const value =
        typeof pattern === 'string'
          ? whole(await this.#pattern(parsePattern(pattern), definedIn, [...within, part.name]))
          : scalar(part.raw, pattern)
      // What a cycle was cut out of depends on where it was entered.
      if (this.#cycles === cycles) this.#variables.set(known, value)
      return value
    } catch (error) {
      if (part.default === undefined || (error instanceof PatternError && error.code === 'TooLarge')) throw error
      return part.default
    }
  }
}

/** The text of a result that leaves nothing open. Throws PatternError `NotResolved`. */
export function whole(resolved: Resolved): string {
  if ('value' in resolved) return resolved.value
  throw new PatternError('NotResolved', `"${resolved.unresolved.slice(0, 200)}" holds a \${…} without a source`)
}

function scalar(raw: string, value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  throw noValue(
    raw,
    value === undefined ? 'the resource has no such field' : 'there is no text, number or boolean there',
  )
}

function noValue(raw: string, why: string): PatternError {
  return new PatternError('NoValue', `"${raw.slice(0, 200)}" has no value: ${why}`)
}
