// Nodes of the `yaml` library to JSON values: anchors, merge keys, integers beyond 2^53, and the limits that protect
// the server.
import type { Alias, Document, LineCounter, Node, Pair, Scalar } from 'yaml'
import { formatJsonPath, maxJsonDepth } from '../json.ts'
import type { ParseJsonOptions } from '../json.ts'
import type { JsonValue, MutableJsonObject } from '../object.ts'
import { isJsonObject, setOwn } from '../own-property.ts'
import { yamlLibrary } from './library.ts'
import { YamlSyntaxError } from './syntax-error.ts'

/** The number of nodes that aliases may add to ten times those of the source. */
const aliasAllowance = 100_000

/** Converts the nodes of one document to JSON values. */
export class NodeConverter {
  readonly #yaml = yamlLibrary()
  readonly #document: Document.Parsed
  readonly #lineCounter: LineCounter
  readonly #maxDepth: number
  readonly #onDuplicate: ParseJsonOptions['onDuplicate']
  readonly #anchors = new Map<string, Node>()
  readonly #resolving = new Set<Node>()
  readonly #path: (string | number)[] = []
  readonly #limit: number
  #visited = 0

  constructor(document: Document.Parsed, lines: LineCounter, options: ParseJsonOptions) {
    this.#document = document
    this.#lineCounter = lines
    this.#maxDepth = options.maxDepth ?? maxJsonDepth
    this.#onDuplicate = options.onDuplicate
    let written = 0
    this.#yaml.visit(document, () => void written++)
    this.#limit = aliasAllowance + 10 * written
  }

  value(node: unknown, depth: number): JsonValue {
    if (++this.#visited > this.#limit) throw new YamlSyntaxError('YamlAliases', 'document contains excessive aliasing')
    if (depth > this.#maxDepth) throw new YamlSyntaxError('YamlTooDeep', 'exceeded max depth')
    if (node === null || node === undefined) return null
    if (this.#yaml.isAlias(node)) return this.#alias(node, depth)
    if (this.#yaml.isScalar(node)) {
      this.#addAnchor(node)
      return this.#scalar(node.value, node)
    }
    if (this.#yaml.isSeq(node)) {
      this.#addAnchor(node)
      return node.items.map((item, i) => {
        this.#path.push(i)
        // A sequence of pairs (`!!omap`, `!!pairs`) is a list of maps with one key each.
        const value = this.#yaml.isPair(item) ? this.#mapOf([item], depth) : this.value(item, depth + 1)
        this.#path.pop()
        return value
      })
    }
    if (this.#yaml.isMap(node)) {
      this.#addAnchor(node)
      return this.#mapOf(node.items, depth)
    }
    throw this.#error('unsupported node', node as Node)
  }

  #addAnchor(node: Node): void {
    const anchor = (node as { anchor?: string }).anchor
    if (anchor !== undefined) this.#anchors.set(anchor, node)
  }

  #alias(alias: Alias, depth: number): JsonValue {
    const target = this.#anchors.get(alias.source) ?? alias.resolve(this.#document)
    if (target === undefined) throw this.#error(`unknown anchor '${alias.source}' referenced`, alias)
    if (this.#resolving.has(target)) throw this.#error(`anchor '${alias.source}' value contains itself`, alias)
    this.#resolving.add(target)
    const value = this.value(target, depth + 1)
    this.#resolving.delete(target)
    return value
  }

  #mapOf(pairs: readonly Pair[], depth: number): JsonValue {
    const out: MutableJsonObject = {}
    const merged: Node[] = []
    for (const pair of pairs) {
      if (this.#isMergeKey(pair)) {
        merged.push(pair.value as Node)
        continue
      }
      const key = this.#key(pair.key)
      this.#path.push(key)
      if (Object.hasOwn(out, key)) this.#onDuplicate?.(formatJsonPath(this.#path), this.#lineOf(pair.key as Node))
      setOwn(out, key, this.value(pair.value, depth + 1))
      this.#path.pop()
    }
    for (const source of merged) this.#merge(out, source, depth)
    return out
  }

  #isMergeKey({ key }: Pair): boolean {
    if (!this.#yaml.isScalar(key)) return false
    return typeof key.value === 'symbol' || (key.value === '<<' && key.type === 'PLAIN')
  }

  #lineOf(node: Node): number {
    return node.range === null || node.range === undefined ? 0 : this.#lineCounter.linePos(node.range[0]).line
  }

  /** `<<`: adds the keys of the other maps that this one does not have. */
  #merge(out: MutableJsonObject, source: Node, depth: number): void {
    const value = this.value(source, depth + 1)
    for (const map of Array.isArray(value) ? (value as JsonValue[]) : [value]) {
      if (!isJsonObject(map)) throw this.#error('map merge requires map or sequence of maps as the value', source)
      for (const key of Object.keys(map)) if (!Object.hasOwn(out, key)) setOwn(out, key, map[key]!)
    }
  }

  #key(node: unknown): string {
    const value = this.value(node, 0)
    switch (typeof value) {
      case 'string':
        return value
      case 'boolean':
      case 'number':
      case 'bigint':
        return String(value)
      default:
        throw this.#error('unsupported map key', node as Node)
    }
  }

  #scalar(value: unknown, node: Node): JsonValue {
    if (typeof value === 'bigint') {
      const number = Number(value)
      if (Number.isSafeInteger(number)) return number
      if (!Number.isFinite(number)) return sourceOf(node)
      return value < 1n << 63n && value >= -(1n << 63n) ? value : number
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      if (/\d/.test(sourceOf(node))) return sourceOf(node)
      const text = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
      throw this.#error(`json: unsupported value: ${text}`, node)
    }
    if (value instanceof Uint8Array) return new TextDecoder().decode(value)
    if (typeof value === 'string' && !value.isWellFormed())
      throw this.#error('found invalid Unicode character escape code', node)
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return value
    throw this.#error('unsupported scalar', node)
  }

  #error(message: string, node: Node | null): YamlSyntaxError {
    const start = node?.range?.[0]
    if (start === undefined) return new YamlSyntaxError('InvalidYaml', message)
    const { line, col } = this.#lineCounter.linePos(start)
    return new YamlSyntaxError('InvalidYaml', message, line, col)
  }
}

/** Returns the source of a scalar: Go reads numbers beyond float64 as strings. */
function sourceOf(node: Node): string {
  return (node as Scalar).source ?? ''
}
