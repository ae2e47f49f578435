// Strategic merge patch: lists merge by the merge keys of the schema; directives delete, replace, order and retain. The
// server supports it for built-in kinds only. Start with applyStrategicMerge.
import { formatGoValue } from '../go-text.ts'
import { jsonTypeName } from '../json.ts'
import { isJsonArray, isJsonObject, ownValue, setOwn } from '../own-property.ts'
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import type { SchemaNode, TypeSchema } from '../schema/schema-node.ts'
import { elementKey, keyIdentity, orderElements, sameKey } from './element-order.ts'

const directive = '$patch'
const retainKeys = '$retainKeys'
const deleteFromPrimitiveList = '$deleteFromPrimitiveList'
const setElementOrder = '$setElementOrder'

/**
 * Thrown for a patch that cannot be applied:
 * - `InvalidStrategicMerge`: a directive is malformed (400).
 * - `ListOfLists`: a list has lists as items, which cannot be merged (422).
 * - `StrategicMergeNotApplicable`: the patch does not match the object (500 without a reason, as in the real server).
 */
export class StrategicMergeError extends Error {
  override readonly name = 'StrategicMergeError'
  readonly code: 'InvalidStrategicMerge' | 'ListOfLists' | 'StrategicMergeNotApplicable'

  constructor(code: StrategicMergeError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Applies the patch to the document. Neither is changed; parts without changes are shared with the document.
 * @throws StrategicMergeError
 */
export function applyStrategicMerge(document: JsonObject, patch: JsonValue, schema: TypeSchema): JsonObject {
  if (patch === null) return document
  if (!isJsonObject(patch)) {
    const message = `json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`
    throw new StrategicMergeError('InvalidStrategicMerge', message)
  }
  return mergeMap(document, patch, new Place(schema, schema.root))
}

function notApplicable(message: string): StrategicMergeError {
  return new StrategicMergeError('StrategicMergeNotApplicable', message)
}

function malformed(what: string): StrategicMergeError {
  return new StrategicMergeError('InvalidStrategicMerge', `invalid patch format of ${what}`)
}

function noMergeKey(element: JsonValue, mergeKey: string): StrategicMergeError {
  return notApplicable(`map: ${formatGoValue(element)} does not contain declared merge key: ${mergeKey}`)
}

function unknownDirective(value: JsonValue, map: JsonObject): StrategicMergeError {
  return notApplicable(`unknown patch type: ${formatGoValue(value)} in map: ${formatGoValue(map)}`)
}

/** A position in the schema, which gives the merge strategy of a field. Beyond the schema there are no strategies. */
class Place {
  readonly strategy: string
  readonly mergeKey: string
  readonly #schema: TypeSchema
  readonly #node: SchemaNode | undefined

  constructor(schema: TypeSchema, node: SchemaNode | undefined) {
    this.#schema = schema
    this.#node = node?.$ref === undefined ? node : { ...schema.resolve(node.$ref), ...node, $ref: undefined }
    const strategies = (this.#node?.['x-kubernetes-patch-strategy'] ?? '').split(',')
    this.strategy = strategies.find((strategy) => strategy !== 'retainKeys') ?? ''
    this.mergeKey = this.#node?.['x-kubernetes-patch-merge-key'] ?? ''
  }

  member(name: string): Place {
    const properties = this.#node?.properties
    if (properties !== undefined && Object.hasOwn(properties, name)) return new Place(this.#schema, properties[name])
    const others = this.#node?.additionalProperties
    return new Place(this.#schema, typeof others === 'object' ? others : undefined)
  }

  items(): Place {
    return new Place(this.#schema, this.#node?.items)
  }
}

function mergeMap(original: JsonObject, patch: JsonObject, place: Place): JsonObject {
  const whole = ownValue(patch, directive)
  if (whole !== undefined) {
    if (whole === 'replace') return withoutField(patch, directive)
    if (whole === 'delete') return {}
    throw unknownDirective(whole, patch)
  }
  const { changes, base } = applyRetainKeys(original, patch)
  const out: MutableJsonObject = { ...base }
  const ordered = mergeOrderedLists(out, changes, place)
  for (const name of Object.keys(changes)) {
    if (ordered.has(name)) continue
    const isDeletion = name.startsWith(deleteFromPrimitiveList)
    const key = isDeletion ? directiveTarget(name, deleteFromPrimitiveList, 'primitive list') : name
    mergeKey(out, key, ownValue(changes, name)!, isDeletion, place)
  }
  return out
}

function mergeKey(out: MutableJsonObject, key: string, change: JsonValue, isDeletion: boolean, place: Place): void {
  if (change === null) {
    delete out[key]
    return
  }
  const current = ownValue(out, key)
  if (isJsonObject(current) && isJsonObject(change)) {
    const field = place.member(key)
    setOwn(out, key, field.strategy === 'replace' ? change : mergeMap(current, change, field))
  } else if (isJsonArray(current) && isJsonArray(change)) {
    setOwn(out, key, mergeField(current, change, place.member(key), isDeletion))
  } else if (!isDeletion) {
    const value = withoutDirectives(change)
    if (value === undefined) delete out[key]
    else setOwn(out, key, value)
  }
}

/** Removes the keys that `$retainKeys` does not list from the original; the patch must not set other keys. */
function applyRetainKeys(original: JsonObject, patch: JsonObject): { changes: JsonObject; base: JsonObject } {
  const kept = ownValue(patch, retainKeys)
  if (kept === undefined) return { changes: patch, base: original }
  if (!isJsonArray(kept)) throw malformed('retainKeys')
  const changes = withoutField(patch, retainKeys)
  const names = new Set(kept)
  for (const name of Object.keys(changes)) {
    const exempt =
      name.startsWith(deleteFromPrimitiveList) || name.startsWith(setElementOrder) || changes[name] === null
    if (!exempt && !names.has(name)) throw malformed('retainKeys')
  }
  const base: MutableJsonObject = {}
  for (const name of Object.keys(original)) if (names.has(name)) setOwn(base, name, original[name]!)
  return { changes, base }
}

function withoutField(map: JsonObject, name: string): JsonObject {
  const out: MutableJsonObject = { ...map }
  delete out[name]
  return out
}

function directiveTarget(name: string, prefix: string, what: string): string {
  if (!name.startsWith(prefix + '/')) throw malformed(what)
  return name.slice(prefix.length + 1)
}

/** Merges every list that has a `$setElementOrder/...` and returns the keys of the patch that are thereby handled. */
function mergeOrderedLists(out: MutableJsonObject, patch: JsonObject, place: Place): ReadonlySet<string> {
  const done = new Set<string>()
  for (const name of Object.keys(patch)) {
    if (!name.startsWith(setElementOrder)) continue
    done.add(name)
    const order = listOf(ownValue(patch, name)!)
    const key = directiveTarget(name, setElementOrder, 'setElementOrder list')
    const original = ownValue(out, key)
    const change = ownValue(patch, key)
    const server = original === undefined ? [] : listOf(original)
    const changes = change === undefined ? [] : listOf(change)
    const field = place.member(key)
    checkOrder(changes, order, field.mergeKey)
    if (original === undefined && change === undefined) continue
    done.add(key)
    let merged: readonly JsonValue[] = server
    if (change !== undefined) {
      merged =
        original === undefined ? listOf(withoutDirectives(changes) ?? []) : mergeField(server, changes, field, false)
    }
    if (field.mergeKey !== '') for (const element of merged) requireMergeKey(element, field.mergeKey)
    setOwn(out, key, orderElements(merged, order, server, elementKey(field.mergeKey)))
  }
  return done
}

function listOf(value: JsonValue): readonly JsonValue[] {
  if (isJsonArray(value)) return value
  throw notApplicable(`expected a []interface {}, but received a ${goTypeName(value)}`)
}

function goTypeName(value: JsonValue): string {
  if (value === null) return 'nil'
  if (isJsonArray(value)) return '[]interface {}'
  if (typeof value === 'object') return 'map[string]interface {}'
  if (typeof value === 'bigint') return 'int64'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return typeof value === 'boolean' ? 'bool' : 'string'
}

/** Checks that the elements that the patch adds or changes are in the `$setElementOrder` list, in that order. */
function checkOrder(changes: readonly JsonValue[], order: readonly JsonValue[], mergeKey: string): void {
  if (order.length === 0 || changes.length === 0) return
  const keyOf = (element: JsonValue): JsonValue => (mergeKey === '' ? element : requireMergeKey(element, mergeKey))
  let at = 0
  for (const change of changes) {
    if (isJsonObject(change) && Object.hasOwn(change, directive)) continue
    const key = keyOf(change)
    while (at < order.length && !sameKey(keyOf(order[at]!), key)) at++
    if (at === order.length) {
      throw notApplicable(
        `The order in patch list:\n${formatGoValue(changes)}\n doesn't match ${setElementOrder} list:\n${formatGoValue(order)}\n`,
      )
    }
    at++
  }
}

function requireMergeKey(element: JsonValue, mergeKey: string): JsonValue {
  if (!isJsonObject(element))
    throw notApplicable(`expected a map[string]interface {}, but received a ${goTypeName(element)}`)
  const key = ownValue(element, mergeKey)
  if (key === undefined) throw noMergeKey(element, mergeKey)
  return key
}

function mergeField(
  original: readonly JsonValue[],
  patch: readonly JsonValue[],
  field: Place,
  isDeletion: boolean,
): readonly JsonValue[] {
  if (field.strategy !== 'merge') return patch
  if (original.length === 0 && patch.length === 0) return original
  if (elementsAreMaps(original, patch)) return mergeMaps(original, patch, field)
  if (isDeletion) {
    const deleted = new Set(patch)
    return original.filter((element) => !deleted.has(element))
  }
  return orderElements([...new Set([...original, ...patch])], patch, original, elementKey(''))
}

/** Checks that all elements are maps, or all are scalars of one type; other lists cannot be merged. */
function elementsAreMaps(...lists: readonly (readonly JsonValue[])[]): boolean {
  const elements = lists.flat(1) as readonly JsonValue[]
  const [first] = elements.map(goTypeName)
  for (const element of elements) {
    if (isJsonArray(element)) throw new StrategicMergeError('ListOfLists', 'lists of lists are not supported')
    if (goTypeName(element) !== first) {
      throw notApplicable(`list element types are not identical: ${formatGoValue(lists as JsonValue)}`)
    }
  }
  return first === 'map[string]interface {}'
}

function mergeMaps(original: readonly JsonValue[], patch: readonly JsonValue[], field: Place): JsonValue[] {
  const { mergeKey } = field
  if (mergeKey === '') throw notApplicable('cannot merge lists without merge key for type struct')
  const { base, changes } = applyElementDirectives(original, patch as readonly JsonObject[], mergeKey)
  const merged = [...base]
  const keyOf = elementKey(mergeKey)
  const indices = new Map<string, number>()
  const addIndex = (element: JsonValue, index: number): void => {
    const key = keyOf(element)
    if (key === undefined) return
    const identity = keyIdentity(key)
    if (!indices.has(identity)) indices.set(identity, index)
  }
  for (const [index, element] of merged.entries()) addIndex(element, index)
  const items = field.items()
  for (const change of changes) {
    const at = indices.get(keyIdentity(requireMergeKey(change, mergeKey)))
    if (at !== undefined) merged[at] = mergeMap(merged[at] as JsonObject, change, items)
    else {
      merged.push(withoutDirectives(change) ?? {})
      addIndex(merged.at(-1)!, merged.length - 1)
    }
  }
  for (const element of merged) requireMergeKey(element, mergeKey)
  return orderElements(merged, changes, base, keyOf)
}

/** Handles the elements that are directives: `$patch: delete` with a key, `$patch: replace` for the whole list. */
function applyElementDirectives(
  original: readonly JsonValue[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { base: readonly JsonValue[]; changes: readonly JsonObject[] } {
  const keyOf = elementKey(mergeKey)
  const changes: JsonObject[] = []
  const deleted = new Set<string>()
  let replace = false
  for (const element of patch) {
    const kind = ownValue(element, directive)
    if (kind === undefined) {
      changes.push(element)
    } else if (kind === 'delete') {
      deleted.add(keyIdentity(requireMergeKey(element, mergeKey)))
    } else if (kind === 'replace') {
      replace = true
    } else if (kind === 'merge') {
      throw notApplicable('merging lists cannot yet be specified in the patch')
    } else {
      throw unknownDirective(kind, element)
    }
  }
  const isKept = (element: JsonValue): boolean => {
    const key = keyOf(element)
    return key === undefined || !deleted.has(keyIdentity(key))
  }
  const base = deleted.size === 0 ? original : original.filter(isKept)
  return replace ? { base: changes, changes: [] } : { base, changes }
}

/**
 * Returns a patch value without nulls and directives, for a field that the document does not have. Undefined for a map
 * with a `$patch`, whatever that says.
 */
function withoutDirectives(value: JsonValue): JsonValue | undefined {
  if (isJsonArray(value)) {
    return value
      .filter((element) => !(isJsonObject(element) && Object.hasOwn(element, directive)))
      .map((element) => (element === null ? null : (withoutDirectives(element) ?? {})))
  }
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, directive)) return undefined
  const out: MutableJsonObject = {}
  for (const name of Object.keys(value)) {
    const isDirective =
      name === directive ||
      name === retainKeys ||
      name.startsWith(deleteFromPrimitiveList) ||
      name.startsWith(setElementOrder)
    const member = isDirective || value[name] === null ? undefined : withoutDirectives(value[name]!)
    if (member !== undefined) setOwn(out, name, member)
  }
  return out
}
