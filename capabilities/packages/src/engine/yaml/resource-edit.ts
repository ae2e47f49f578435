// Edits of the resources in a file: comments, key order and quoting of everything else stay, and documents that are not
// changed stay byte for byte. Start with editResources.
import type { Document, Node, YAMLMap, YAMLSeq } from 'yaml'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject, jsonEqual, ownValue, yamlLibrary } from '@fairlead/kube'
import { PackageError } from '../package-error.ts'
import { formatDocument } from './format.ts'
import { jsonOf, keyOf } from './json-value.ts'
import { mapField, newNode, setField, setFields } from './new-node.ts'
import { pairOf } from './resource-identity.ts'
import { sequenceIndentOf } from './sequence-indent.ts'
import type { YamlDocument } from './yaml-document.ts'
import { isKptfile, joinDocuments, yamlDocuments } from './yaml-file.ts'

type Path = readonly string[]

/** One resource of a file. */
export interface ResourceEdit {
  /** The resource before all edits. */
  readonly object: JsonObject
  /** Sets a field; maps on the way are made. Nothing happens when it has that value. */
  set(path: Path, value: JsonValue): void
  /** Sets fields of a map, as `set` does each of them, at the cost of one. */
  setFields(path: Path, fields: Readonly<Record<string, JsonValue>>): void
  /** Removes a field, and the maps on the way that become empty. */
  remove(path: Path): void
  /** Removes fields of a map, as `remove` does each of them, at the cost of one. */
  removeFields(path: Path, names: ReadonlySet<string>): void
  /** Removes the items of a list that `matches` accepts. Comments of the others stay. */
  removeItems(path: Path, matches: (item: JsonValue) => boolean): void
  /** Inserts items into a list, which is made when missing, at an index; at the end when left out. */
  insertItems(path: Path, items: readonly JsonValue[], index?: number): void
  /** Replaces an item of a list. Nothing happens when it has that value. */
  setItem(path: Path, index: number, value: JsonValue): void
}

/**
 * Returns the content of a file after edits of its resources; the same string when nothing has changed.
 * @throws PackageError `InvalidYaml`
 */
export function editResources(path: string, content: string, edit: (resource: ResourceEdit) => void): string {
  let isChanged = false
  const sources = yamlDocuments(path, content).map((document) => {
    if (document.isEmpty) return document.source
    const object = document.toJson()
    if (!isJsonObject(object)) return document.source
    const edited = new DocumentEdit(document, object)
    edit(edited)
    isChanged ||= edited.isChanged
    return edited.source(path)
  })
  return isChanged ? joinDocuments(sources) : content
}

/** Returns the resources of a file as JSON. @throws PackageError `InvalidYaml` */
export function resourcesIn(path: string, content: string): readonly JsonObject[] {
  return yamlDocuments(path, content)
    .filter((document) => !document.isEmpty)
    .map((document) => document.toJson())
    .filter((value) => isJsonObject(value))
}

class DocumentEdit implements ResourceEdit {
  readonly object: JsonObject
  readonly #document: YamlDocument
  #nodes: Document | undefined

  constructor(document: YamlDocument, object: JsonObject) {
    this.#document = document
    this.object = object
  }

  get isChanged(): boolean {
    return this.#nodes !== undefined
  }

  source(path: string): string {
    if (this.#nodes === undefined) return this.#document.source
    if (path.endsWith('.json')) return `${JSON.stringify(this.#nodes.toJS(), null, 2)}\n`
    const sequenceIndent = sequenceIndentOf(this.#document.source) ?? (isKptfile(path) ? 'wide' : 'compact')
    return formatDocument(this.#nodes, { sequenceIndent })
  }

  set(path: Path, value: JsonValue): void {
    const current = this.#value(path)
    if (current !== undefined && jsonEqual(current, value)) return
    setField(this.#map(path.slice(0, -1)), path.at(-1)!, newNode(value))
  }

  setFields(path: Path, fields: Readonly<Record<string, JsonValue>>): void {
    const current = this.#value(path)
    const changed = Object.entries(fields).filter(([name, value]) => {
      const before = isJsonObject(current) ? ownValue(current, name) : undefined
      return before === undefined || !jsonEqual(before, value)
    })
    if (changed.length > 0)
      setFields(
        this.#map(path),
        changed.map(([name, value]) => [name, newNode(value)]),
      )
  }

  remove(path: Path): void {
    this.removeFields(path.slice(0, -1), new Set(path.slice(-1)))
  }

  removeFields(path: Path, names: ReadonlySet<string>): void {
    const current = this.#value(path)
    if (!isJsonObject(current) || ![...names].some((name) => Object.hasOwn(current, name))) return
    const map = this.#map(path)
    map.items = map.items.filter(({ key }) => !names.has(keyOf(key)))
    // Maps on the way that have become empty go, too.
    for (let length = path.length; length > 0; length--) {
      const parent = this.#map(path.slice(0, length - 1))
      const name = path[length - 1]!
      const pair = pairOf(parent, name)
      if (!yamlLibrary().isCollection(pair?.value) || pair.value.items.length > 0) return
      parent.items = parent.items.filter((one) => one !== pair)
    }
  }

  removeItems(path: Path, matches: (item: JsonValue) => boolean): void {
    const list = this.#value(path)
    if (!Array.isArray(list)) return
    const removed = new Set([...list.keys()].filter((index) => matches(list[index] as JsonValue)))
    if (removed.size === 0) return
    if (removed.size === list.length) return this.remove(path)
    const nodes = this.#list(path)
    nodes.items = nodes.items.filter((_, index) => !removed.has(index))
  }

  insertItems(path: Path, items: readonly JsonValue[], index?: number): void {
    if (items.length === 0) return
    const nodes = this.#list(path)
    nodes.items.splice(index ?? nodes.items.length, 0, ...items.map(newNode))
  }

  setItem(path: Path, index: number, value: JsonValue): void {
    const current = this.#nodes === undefined ? this.#value(path) : undefined
    if (Array.isArray(current) && jsonEqual(current[index] as JsonValue, value)) return
    const nodes = this.#list(path)
    // One item alone: a list of many is changed item by item.
    const node = nodes.items[index]
    if (node !== undefined && jsonEqual(jsonOf(node as Node, this.#nodes!), value)) return
    nodes.items[index] = newNode(value)
  }

  /** The value now. */
  #value(path: Path): JsonValue | undefined {
    const root: JsonValue = this.#nodes === undefined ? this.object : jsonOf(this.#nodes.contents, this.#nodes)
    return path.reduce<JsonValue | undefined>((value, key) => (isJsonObject(value) ? value[key] : undefined), root)
  }

  #map(path: Path): YAMLMap {
    const { contents } = (this.#nodes ??= this.#document.parse())
    if (!yamlLibrary().isMap(contents))
      throw new PackageError('InvalidYaml', 'the resource is no map', { path: this.#document.path })
    return path.reduce((map, key) => mapField(map, key), contents as unknown as YAMLMap)
  }

  #list(path: Path): YAMLSeq {
    const { isSeq, YAMLSeq: NewList } = yamlLibrary()
    const parent = this.#map(path.slice(0, -1))
    const name = path.at(-1)!
    const value = pairOf(parent, name)?.value
    if (isSeq(value)) return value as YAMLSeq
    const list = new NewList()
    setField(parent, name, list)
    return list
  }
}
