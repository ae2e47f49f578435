// Nodes of the `yaml` library as JSON values.
import type { Alias, Document, Node, Pair, YAMLMap } from 'yaml'
import type { JsonValue, MutableJsonObject } from '@fairlead/kube'
import { isJsonObject, setOwn, yamlLibrary } from '@fairlead/kube'
import type { PackagePosition } from '../package-error.ts'
import { PackageError } from '../package-error.ts'

/** The number of values that a document may have once its aliases are resolved. */
const maxValues = 500_000

/** Returns the JSON value of a node; integers beyond 2^53 are bigint. @throws PackageError `InvalidYaml` */
export function jsonOf(node: unknown, document: Document, position: PackagePosition = {}): JsonValue {
  return new Converter(document, position).value(node)
}

class Converter {
  readonly #yaml = yamlLibrary()
  readonly #document: Document
  readonly #position: PackagePosition
  readonly #open = new Set<unknown>()
  readonly #targets = new Map<Alias, Node | undefined>()
  #count = 0

  constructor(document: Document, position: PackagePosition) {
    this.#document = document
    this.#position = position
  }

  value(node: unknown): JsonValue {
    if (++this.#count > maxValues) throw this.#error('document contains excessive aliasing')
    const { isAlias, isMap, isScalar, isSeq } = this.#yaml
    if (isScalar(node)) return scalarOf(node.value)
    if (isAlias(node)) {
      const target = this.#targetOf(node)
      if (target === undefined) throw this.#error(`unknown anchor '${node.source}' referenced`)
      if (this.#open.has(target)) throw this.#error(`anchor '${node.source}' value contains itself`)
      this.#open.add(target)
      const value = this.value(target)
      this.#open.delete(target)
      return value
    }
    if (isSeq(node)) return node.items.map((item) => this.value(item))
    if (isMap(node)) return this.#map(node)
    return scalarOf(node)
  }

  /** Returns the node of an alias; the library searches the document for it. */
  #targetOf(alias: Alias): Node | undefined {
    if (!this.#targets.has(alias)) this.#targets.set(alias, alias.resolve(this.#document) as Node | undefined)
    return this.#targets.get(alias)
  }

  #map(map: YAMLMap): JsonValue {
    const out: MutableJsonObject = {}
    const merged: JsonValue[] = []
    for (const { key, value } of map.items as Pair<Node, Node>[]) {
      const name = keyOf(key)
      if (name === '<<') merged.push(this.value(value))
      else setOwn(out, name, this.value(value))
    }
    for (const source of merged.flat() as JsonValue[]) {
      if (!isJsonObject(source)) throw this.#error('map merge requires map or sequence of maps as the value')
      for (const [name, value] of Object.entries(source)) if (!Object.hasOwn(out, name)) setOwn(out, name, value)
    }
    return out
  }

  #error(message: string): PackageError {
    return new PackageError('InvalidYaml', message, this.#position)
  }
}

/** Returns the name of a key: as JSON writes it, whatever its type. */
export function keyOf(key: unknown): string {
  const value: unknown = yamlLibrary().isScalar(key) ? (key.source ?? key.value) : key
  return typeof value === 'symbol' ? '<<' : String(value)
}

function scalarOf(value: unknown): JsonValue {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  return String(value)
}
