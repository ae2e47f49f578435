// Walks the paths of a references manifest over an object: every place where a reference may be set.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonArray, isJsonObject, ownValue, setOwn } from '@fairlead/kube'
import type { MutableJsonObject } from '@fairlead/kube'
import type { ReferenceRow } from './reference-table.ts'

/** One place of a row in one object: the parent of field and reference exists there. */
export interface Occurrence {
  readonly row: ReferenceRow
  /** Path of the field with list indexes, such as `productionVariants[0].modelName`. */
  readonly path: string
  /** Path of the reference with list indexes. */
  readonly refPath: string
  /** The plain value; undefined when the field is absent, null or an empty list. */
  readonly plain: JsonValue | undefined
  /** The value of the reference field; undefined when it is absent, null or an empty list. */
  readonly reference: JsonValue | undefined
}

interface Parent {
  readonly path: string
  readonly value: JsonObject
}

function childPath(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`
}

/** Returns the objects that a path leads to. Lists are walked item by item; what is absent or of another type ends. */
function parents(root: JsonObject, segments: readonly string[]): readonly Parent[] {
  let found: readonly Parent[] = [{ path: '', value: root }]
  for (const segment of segments) {
    const name = segment.replace(/\[\]$/, '')
    found = found.flatMap(({ path, value }) => {
      const next = ownValue(value, name)
      const at = childPath(path, name)
      if (!segment.endsWith('[]')) return isJsonObject(next) ? [{ path: at, value: next }] : []
      if (!isJsonArray(next)) return []
      return next.flatMap((item, index) => (isJsonObject(item) ? [{ path: `${at}[${index}]`, value: item }] : []))
    })
  }
  return found
}

function set(value: JsonValue | undefined): JsonValue | undefined {
  return value === null || (isJsonArray(value) && value.length === 0) ? undefined : value
}

/** Returns the places of a row in an object, in the order of its lists. */
export function occurrencesOf(row: ReferenceRow, root: JsonObject): readonly Occurrence[] {
  const segments = row.fieldPath.split('.')
  const field = segments.at(-1) as string
  const reference = row.refPath.split('.').at(-1) as string
  return parents(root, segments.slice(0, -1)).map(({ path, value }) => ({
    row,
    path: childPath(path, field),
    refPath: childPath(path, reference),
    plain: set(ownValue(value, field)),
    reference: set(ownValue(value, reference)),
  }))
}

/** Splits `variants[0].name` into `variants`, 0, `name`. */
function steps(path: string): readonly (string | number)[] {
  return path.split('.').flatMap((segment) => {
    const open = segment.endsWith(']') ? segment.lastIndexOf('[') : -1
    return open < 0 ? [segment] : [segment.slice(0, open), Number(segment.slice(open + 1, -1))]
  })
}

function replaced(
  value: JsonValue | undefined,
  path: readonly (string | number)[],
  to: JsonValue | undefined,
): JsonValue {
  const [step, ...rest] = path
  if (typeof step === 'number') {
    const items = isJsonArray(value) ? [...value] : []
    items[step] = replaced(items[step], rest, to)
    return items
  }
  const copy: MutableJsonObject = { ...(isJsonObject(value) ? value : {}) }
  const name = step as string
  if (rest.length > 0) setOwn(copy, name, replaced(ownValue(copy, name), rest, to))
  else if (to === undefined) delete copy[name]
  else setOwn(copy, name, to)
  return copy
}

/** Returns a copy of the object with the value at a path of {@link Occurrence}; undefined removes the field. */
export function withValue(root: JsonObject, path: string, to: JsonValue | undefined): JsonObject {
  return replaced(root, steps(path), to) as JsonObject
}

/** Values put at the paths of {@link Occurrence} one by one: each object and list on the way is copied once. */
export class SpecDraft {
  readonly #copies = new WeakSet<object>()
  #root: JsonObject

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** Returns the spec with the values put so far. */
  get spec(): JsonObject {
    return this.#root
  }

  /** Puts a value at a path that an occurrence of this spec has. */
  put(path: string, to: JsonValue): void {
    const way = steps(path)
    const last = way.at(-1) as string | number
    this.#root = this.#own(this.#root) as MutableJsonObject
    let at: MutableJsonObject | JsonValue[] = this.#root
    for (const step of way.slice(0, -1)) {
      const next = this.#own(childOf(at, step))
      setChild(at, step, next as JsonValue)
      at = next
    }
    setChild(at, last, to)
  }

  /** Returns the copy of a value that this draft may change. */
  #own(value: JsonValue | undefined): MutableJsonObject | JsonValue[] {
    if (typeof value === 'object' && value !== null && this.#copies.has(value)) return value as MutableJsonObject
    const copy = isJsonArray(value) ? [...value] : { ...(isJsonObject(value) ? value : {}) }
    this.#copies.add(copy)
    return copy
  }
}

function childOf(value: MutableJsonObject | JsonValue[], step: string | number): JsonValue | undefined {
  return Array.isArray(value) ? value[step as number] : ownValue(value, step as string)
}

function setChild(value: MutableJsonObject | JsonValue[], step: string | number, to: JsonValue): void {
  if (Array.isArray(value)) value[step as number] = to
  else setOwn(value, step as string, to)
}

/** Returns the value at a dotted path below an object, own properties only. */
export function valueAt(root: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = root
  for (const step of steps(path)) {
    if (typeof step === 'number') value = isJsonArray(value) ? value[step] : undefined
    else value = isJsonObject(value) ? ownValue(value, step) : undefined
  }
  return value
}
