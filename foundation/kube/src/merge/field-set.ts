// Sets of fields: a tree of path elements, some of them members (structured-merge-diff's fieldpath.Set), with the codec
// of fieldsV1. Sets are immutable and shared; an operation that changes nothing returns its first argument, so callers
// compare by identity.
import type { JsonObject, MutableJsonObject } from '../object.ts'
import { cloneJson, deepFreeze, stringifyJson } from '../json.ts'
import { isJsonObject, setOwn } from '../own-property.ts'
import type { Steps } from '../steps.ts'
import { FieldsV1Error, parsePathElement, sortPathElements } from './path-element.ts'
import type { PathElement } from './path-element.ts'

/** One path element of a set: whether the field itself is a member, and the members below it. At least one of both. */
export interface FieldNode {
  readonly member: boolean
  readonly children: FieldSet | undefined
}

/** A set of field paths. */
export type FieldSet = ReadonlyMap<PathElement, FieldNode>

/** A set under construction. */
export type FieldSetBuilder = Map<PathElement, { member: boolean; children: FieldSetBuilder | undefined }>

/** The empty set. */
export const emptyFieldSet: FieldSet = new Map()

const leaf: FieldNode = { member: true, children: undefined }

/** Adds a path to a set under construction. */
export function insertPath(set: FieldSetBuilder, path: readonly PathElement[]): void {
  let level = set
  const last = path.length - 1
  for (const [index, element] of path.entries()) {
    let node = level.get(element)
    if (node === undefined) level.set(element, (node = { member: false, children: undefined }))
    if (index === last) node.member = true
    else level = node.children ??= new Map()
  }
}

/** Creates the set of the given paths. */
export function fieldSetOfPaths(paths: Iterable<readonly PathElement[]>): FieldSet {
  const set: FieldSetBuilder = new Map()
  for (const path of paths) insertPath(set, path)
  return set
}

/** Reports whether the field at `path` is a member. */
export function hasPath(set: FieldSet, path: readonly PathElement[]): boolean {
  let level: FieldSet | undefined = set
  let node: FieldNode | undefined
  for (const element of path) {
    node = level?.get(element)
    if (node === undefined) return false
    level = node.children
  }
  return node?.member === true
}

/** Yields every path of the set: at each level the members first, then the paths below, each in order. */
export function* fieldPaths(set: FieldSet, prefix: readonly PathElement[] = []): Generator<readonly PathElement[]> {
  const entries = inOrder(set)
  for (const [element, node] of entries) if (node.member) yield [...prefix, element]
  for (const [element, node] of entries)
    if (node.children !== undefined) yield* fieldPaths(node.children, [...prefix, element])
}

/** Returns the fields of either set. */
export function unionOf(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || b.size === 0) return a
  if (a.size === 0) return b
  let out: Map<PathElement, FieldNode> | undefined
  for (const [element, right] of b) {
    const left = a.get(element)
    let node: FieldNode = right
    if (left !== undefined) {
      const member = left.member || right.member
      const children = unionOfChildren(left.children, right.children)
      if (member === left.member && children === left.children) continue
      node = { member, children }
    }
    out ??= new Map(a)
    out.set(element, node)
  }
  return out ?? a
}

function unionOfChildren(a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined {
  return a === undefined ? b : b === undefined ? a : unionOf(a, b)
}

/** Returns the fields of `a` that are not in `b`; fields below a field of `b` stay. */
export function differenceOf(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, false)
}

/** Returns the fields of `a` that are neither in `b` nor below a field of `b`. */
export function recursiveDifferenceOf(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, true)
}

function subtract(a: FieldSet, b: FieldSet, recursive: boolean): FieldSet {
  if (a.size === 0 || b.size === 0) return a
  if (a === b) return emptyFieldSet
  let out: Map<PathElement, FieldNode> | undefined
  for (const [element, right] of b) {
    const left = a.get(element)
    if (left === undefined) continue
    const member = left.member && !right.member
    let children = left.children
    if (recursive && right.member) children = undefined
    else if (children !== undefined && right.children !== undefined)
      children = nonEmpty(subtract(children, right.children, recursive))
    if (member === left.member && children === left.children) continue
    out ??= new Map(a)
    if (member || children !== undefined) out.set(element, { member, children })
    else out.delete(element)
  }
  return out ?? a
}

/** Returns the fields that are in both sets. */
export function intersectionOf(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a
  if (a.size > b.size) return intersectionOf(b, a)
  const out = new Map<PathElement, FieldNode>()
  for (const [element, left] of a) {
    const right = b.get(element)
    if (right === undefined) continue
    const member = left.member && right.member
    const children =
      left.children === undefined || right.children === undefined
        ? undefined
        : nonEmpty(intersectionOf(left.children, right.children))
    if (member || children !== undefined) out.set(element, { member, children })
  }
  return out
}

/** Reports whether every field of `a` is in `b`. */
export function isSubset(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true
  for (const [element, left] of a) {
    const right = b.get(element)
    if (right === undefined || (left.member && !right.member)) return false
    if (left.children !== undefined && (right.children === undefined || !isSubset(left.children, right.children)))
      return false
  }
  return true
}

/** Reports whether both sets have the same fields. */
export function equalFieldSets(a: FieldSet, b: FieldSet): boolean {
  return a === b || (a.size === b.size && isSubset(a, b) && isSubset(b, a))
}

function nonEmpty(set: FieldSet): FieldSet | undefined {
  return set.size === 0 ? undefined : set
}

/** Levels with more fields are decoded and encoded in steps. */
const largeLevel = 1000

const nothing: JsonObject = Object.freeze({})

const decoded = new WeakMap<JsonObject, FieldSet>()
const encoded = new WeakMap<FieldSet, JsonObject>()

/**
 * Documents by their JSON: the objects of a kind mostly have the same few, and share them with their decoded sets. The
 * oldest are evicted first.
 */
const documents = new Map<string, JsonObject>()
const documentLimit = 500
/** Characters of the longest document that is shared. */
const longestShared = 4096
/** Fields of the largest document that is shared: the JSON of one takes at least 6 characters. */
const mostShared = Math.floor(longestShared / 6)

/**
 * Decodes a fieldsV1 document. Frozen documents are decoded once, and equal ones to the same set.
 * @throws FieldsV1Error
 */
export function decodeFieldSet(fields: JsonObject): FieldSet {
  const known = decoded.get(fields)
  if (known !== undefined) return known
  if (!Object.isFrozen(fields)) return decodeLevel(fields)
  if (hasMoreFieldsThan(mostShared, fields)) return keep(fields, decodeLevel(fields))
  const text = stringifyJson(fields)
  const shared = documents.get(text)
  const set = (shared && decoded.get(shared)) ?? decodeLevel(fields)
  decoded.set(fields, set)
  if (shared !== undefined || text.length > longestShared) {
    if (!encoded.has(set)) encoded.set(set, shared ?? fields)
    return set
  }
  // Documents of a caller may be frozen at the top alone.
  const document = deepFreeze(cloneJson(fields)) as JsonObject
  decoded.set(document, set)
  encoded.set(set, document)
  share(text, document)
  return set
}

/**
 * Computes {@link decodeFieldSet} in steps. Only the larger documents take steps.
 * @throws FieldsV1Error
 */
export function* decodeFieldSetSteps(fields: JsonObject): Steps<FieldSet> {
  const known = decoded.get(fields)
  if (known !== undefined) return known
  if (!hasMoreFieldsThan(largeLevel, fields)) return decodeFieldSet(fields)
  const set = yield* decodeLevelSteps(fields)
  return Object.isFrozen(fields) ? keep(fields, set) : set
}

/** Remembers the set of a frozen document that is too large to be shared. */
function keep(document: JsonObject, set: FieldSet): FieldSet {
  decoded.set(document, set)
  if (!encoded.has(set)) encoded.set(set, document)
  return set
}

/** Reports whether a document has more than that many fields, without counting further. */
function hasMoreFieldsThan(limit: number, fields: JsonObject): boolean {
  let count = 0
  const isOver = (level: JsonObject): boolean => {
    for (const key in level) {
      if (++count > limit) return true
      const below = level[key]
      if (isJsonObject(below) && isOver(below)) return true
    }
    return false
  }
  return isOver(fields)
}

function decodeLevel(fields: JsonObject): FieldSet {
  const set = new Map<PathElement, FieldNode>()
  for (const key of Object.keys(fields)) {
    const [element, value] = decodedField(fields, key)
    if (element !== undefined) set.set(element, decodedNode(value, decodeLevel(value)))
  }
  return set
}

function* decodeLevelSteps(fields: JsonObject): Steps<FieldSet> {
  const set = new Map<PathElement, FieldNode>()
  let count = 0
  for (const key of Object.keys(fields)) {
    if (++count % largeLevel === 0) yield
    const [element, value] = decodedField(fields, key)
    if (element !== undefined) set.set(element, decodedNode(value, yield* decodeLevelSteps(value)))
  }
  return set
}

/** Returns the path element of a key, undefined for those that are skipped, and the document below it. */
function decodedField(fields: JsonObject, key: string): readonly [PathElement | undefined, JsonObject] {
  const element = key === '.' ? undefined : parsePathElement(key)
  const value = fields[key]!
  if (element === undefined) return [undefined, nothing]
  if (!isJsonObject(value)) throw new FieldsV1Error(`the value of ${key} is not an object`)
  return [element, value]
}

function decodedNode(fields: JsonObject, children: FieldSet): FieldNode {
  return children.size === 0 ? leaf : { member: Object.hasOwn(fields, '.'), children }
}

/** Encodes a set as fieldsV1, frozen. The same set gives the same object, and so do most equal ones. */
export function encodeFieldSet(set: FieldSet): JsonObject {
  return encoded.get(set) ?? remember(set, encodeLevel(set))
}

function remember(set: FieldSet, fields: JsonObject): JsonObject {
  if (hasMoreFieldsThan(mostShared, fields)) {
    const document = deepFreeze(fields)
    encoded.set(set, document)
    if (!decoded.has(document)) decoded.set(document, set)
    return document
  }
  const text = stringifyJson(fields)
  const document = documents.get(text) ?? deepFreeze(fields)
  encoded.set(set, document)
  if (!decoded.has(document)) decoded.set(document, set)
  share(text, document)
  return document
}

function share(text: string, document: JsonObject): void {
  if (documents.has(text) || text.length > longestShared) return
  if (documents.size >= documentLimit) documents.delete(documents.keys().next().value!)
  documents.set(text, document)
}

/** Computes {@link encodeFieldSet} in steps, so that it finds the result. Only the larger levels take steps. */
export function* encodeFieldSetSteps(set: FieldSet): Steps<JsonObject> {
  const known = encoded.get(set)
  if (known !== undefined) return known
  const fields = yield* encodeLevelSteps(set)
  yield
  return remember(set, fields)
}

/** Returns the members of one level in the order of fieldsV1. */
function inOrder(set: FieldSet): readonly (readonly [PathElement, FieldNode])[] {
  return sortPathElements([...set.keys()]).map((element) => [element, set.get(element)!])
}

function encodeLevel(set: FieldSet): MutableJsonObject {
  const out: MutableJsonObject = {}
  for (const [element, node] of inOrder(set))
    setOwn(out, element, encodedNode(node, node.children === undefined ? nothing : encodeLevel(node.children)))
  return out
}

function* encodeLevelSteps(set: FieldSet): Steps<MutableJsonObject> {
  const out: MutableJsonObject = {}
  const members = inOrder(set)
  if (set.size > largeLevel) yield
  let count = 0
  for (const [element, node] of members) {
    if (++count % largeLevel === 0) yield
    setOwn(
      out,
      element,
      encodedNode(node, node.children === undefined ? nothing : yield* encodeLevelSteps(node.children)),
    )
  }
  return out
}

function encodedNode({ member, children }: FieldNode, below: JsonObject): JsonObject {
  return member && children !== undefined ? { '.': nothing, ...below } : below
}
