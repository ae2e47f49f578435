// search-replace: finds fields by value, path and file, and sets their values or comments.
import type { Node, Pair, Scalar, YAMLSeq } from 'yaml'
import { Scalar as ScalarNode, YAMLMap, isMap, isScalar } from 'yaml'
import type { Regex } from '@fairlead/kube'
import { RegexError, compileRegex } from '@fairlead/kube'
import type { FunctionResult } from '../engine/function-runner.ts'
import { pairOf, scalarText, setNode, setScalar } from '../engine/render/fields.ts'
import { globExpression } from '../engine/render/krm-ignore.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { ConfigError, configData } from './config.ts'
import { matchesPath } from './field-pattern.ts'
import { failed } from './results.ts'
import { plainNode } from './typed-scalar.ts'
import { walkFields } from './yaml-walk.ts'

const matchers = ['by-value', 'by-file-path', 'by-value-regex', 'by-path', 'put-value', 'put-comment'] as const

type Matcher = (typeof matchers)[number]

/** Searches, and replaces where the config has something to put. */
export function searchReplace({ items, config }: FunctionInput): FunctionOutcome {
  try {
    const search = new Search(configData(config))
    for (const resource of items) search.visit(resource)
    return { results: search.results.length === 0 ? [{ message: 'no matches' }] : search.results }
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof RegexError)) throw error
    return failed(`failed to perform search-replace operation: ${JSON.stringify(error.message)}`, error.message)
  }
}

class Search {
  readonly #options: Readonly<Record<Matcher, string>>
  readonly #valueRegex: Regex | undefined
  readonly #fileRegex: Regex | undefined
  readonly results: FunctionResult[] = []

  constructor(data: ReadonlyMap<string, string>) {
    const unknown = [...data.keys()].find((key) => !matchers.some((matcher) => matcher === key))
    if (unknown !== undefined)
      throw new ConfigError(
        `invalid matcher ${JSON.stringify(unknown)}, must be one of [${matchers.map((matcher) => JSON.stringify(matcher)).join(' ')}]`,
      )
    const option = (matcher: Matcher): string => data.get(matcher) ?? ''
    this.#options = Object.fromEntries(matchers.map((matcher) => [matcher, option(matcher)])) as Record<Matcher, string>
    if (option('by-value') !== '' && option('by-value-regex') !== '')
      throw new ConfigError('only one of ["by-value", "by-value-regex"] can be provided')
    this.#valueRegex = option('by-value-regex') === '' ? undefined : compileRegex(option('by-value-regex'))
    this.#fileRegex =
      option('by-file-path') === '' ? undefined : compileRegex(`^(?s:${globExpression(option('by-file-path'))})$`)
  }

  visit(resource: Resource): void {
    const file = resource.location.path ?? ''
    if (this.#fileRegex?.test(file) === false) return
    if (this.#putsByPath()) {
      const path = this.#options['by-path']
      putAt(resource.fields, path.split('.'), this.#options['put-value'])
      this.#report(file, path, this.#options['put-value'])
      return
    }
    walkFields(resource.fields, {
      list: (pair, list, path) => this.#list(pair, list, path, file),
      scalar: (scalar, path) => this.#scalar(scalar, path, file),
    })
  }

  /** A value for an exact path is put even where the field is missing. */
  #putsByPath(): boolean {
    const { 'by-path': path, 'by-value': value, 'by-value-regex': regex, 'put-value': put } = this.#options
    const isExact = path !== '' && !/[*[]/.test(path) && !path.split('.').includes('')
    return isExact && value === '' && regex === '' && put !== ''
  }

  #list(pair: Pair<Node, Node>, list: YAMLSeq, path: string, file: string): void {
    const { 'put-comment': comment, 'by-path': pattern } = this.#options
    if (comment === '' || pattern === '' || !matchesPath(path, pattern)) return
    pair.key.comment = ` ${comment}`
    list.flow = false
    this.#report(file, `${pattern} # ${comment}`, flowText(list))
  }

  #scalar(scalar: Scalar, path: string, file: string): void {
    const text = scalarText(scalar)
    if (!this.#isMatch(text, path)) return
    const { 'put-comment': comment, 'put-value': value } = this.#options
    if (comment !== '') scalar.comment = ` ${this.#resolve(comment, text)}`
    if (value !== '') plainNode(scalar, this.#resolve(value, text))
    const written = scalarText(scalar)
    this.#report(file, path, comment === '' ? written : `${written} #${scalar.comment}`)
  }

  #isMatch(text: string, path: string): boolean {
    const { 'by-path': pattern, 'by-value': value } = this.#options
    const hasPath = pattern !== '' && matchesPath(path, pattern)
    const hasValue = (value !== '' && value === text) || this.#valueRegex?.test(text) === true
    if (hasValue) return hasPath || pattern === ''
    return hasPath && value === '' && this.#valueRegex === undefined
  }

  /** Fills `${1}` and so on from the groups of the value's expression. */
  #resolve(template: string, text: string): string {
    if (this.#valueRegex === undefined) return template
    const groups = this.#valueRegex.groups(text) ?? []
    const resolved = template.replaceAll(
      /\$\{(\d+)\}/g,
      (reference, index: string) => groups[Number(index) - 1] ?? reference,
    )
    if (/\$\{\d+\}/.test(resolved)) throw new ConfigError('unable to resolve capture groups')
    return resolved
  }

  #report(file: string, path: string, value: string): void {
    const isMutated = this.#options['put-comment'] !== '' || this.#options['put-value'] !== ''
    const message = `${isMutated ? 'Mutated' : 'Matched'} field value ${isMutated ? 'to ' : ''}${JSON.stringify(value)}`
    this.results.push({ message, field: { path }, file: { path: file } })
  }
}

function putAt(fields: YAMLMap, path: readonly string[], value: string): void {
  let map = fields
  for (const key of path.slice(0, -1)) {
    const next = pairOf(map, key)?.value
    if (isMap(next)) map = next
    else {
      const created = new YAMLMap()
      setNode(map, key, created)
      map = created
    }
  }
  const key = path.at(-1) ?? ''
  const present = pairOf(map, key)?.value
  const scalar = isScalar(present) ? present : new ScalarNode('')
  if (!isScalar(present)) setNode(map, key, scalar)
  else if (scalar.type !== 'QUOTE_DOUBLE' && scalar.type !== 'QUOTE_SINGLE') setScalar(scalar, '')
  plainNode(scalar, value)
}

function flowText(list: YAMLSeq): string {
  return `[${list.items.map((item) => (isScalar(item) ? scalarText(item) : JSON.stringify(item))).join(', ')}]`
}
