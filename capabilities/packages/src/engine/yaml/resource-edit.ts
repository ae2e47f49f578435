// Edits of the resources in a file: comments, key order and quoting of everything else stay, and documents that are not
// changed stay byte for byte. Start with editResources.
import type { Document, YAMLMap, YAMLSeq } from 'yaml'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject, jsonEqual, yamlLibrary } from '@fairlead/kube'
import { PackageError } from '../package-error.ts'
import { formatDocument } from './format.ts'
import { jsonOf } from './json-value.ts'
import { mapField, newNode, setField } from './new-node.ts'
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
  /** Removes a field, and the maps on the way that become empty. */
  remove(path: Path): void
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

  remove(path: Path): void {
    if (this.#value(path) === undefined) return
    for (let length = path.length; length > 0; length--) {
      const parent = this.#map(path.slice(0, length - 1))
      const name = path[length - 1]!
      if (length < path.length) {
        const value = pairOf(parent, name)?.value
        if (!yamlLibrary().isCollection(value) || value.items.length > 0) return
      }
      parent.items = parent.items.filter((pair) => pair !== pairOf(parent, name))
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
    const list = this.#value(path)
    if (Array.isArray(list) && jsonEqual(list[index] as JsonValue, value)) return
    this.#list(path).items[index] = newNode(value)
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
