// JSON patch (RFC 6902) as the API server applies it. It deviates from the RFC as the server does: `replace` of a
// missing field sets it, negative indices count from the end, `test` of a missing field passes against null, the root
// cannot be added or removed.
import { cloneJson, jsonEqual, jsonTypeName, stringifyJson } from '../json.ts'
import { isJsonArray, isJsonObject, ownValue, setOwn } from '../own-property.ts'
import type { JsonObject, JsonValue, MutableJsonObject } from '../object.ts'
import { runSteps } from '../steps.ts'
import type { Steps } from '../steps.ts'

/** The maximum number of operations in one patch. */
export const maxJsonPatchOperations = 10_000

/** The number of bytes of JSON that the `copy` operations of one patch may add to a document. */
export const maxJsonPatchCopyBytes: number = 3 * 1024 * 1024

/**
 * Thrown for a patch that is rejected:
 * - `InvalidJsonPatch`: it is not a list of operations (400 with the message).
 * - `TooManyOperations`: it has more than {@link maxJsonPatchOperations} (413).
 * - `JsonPatchNotApplicable`: an operation cannot be applied to the document (422; the server does not show the
 *   message).
 */
export class JsonPatchError extends Error {
  override readonly name = 'JsonPatchError'
  readonly code: 'InvalidJsonPatch' | 'TooManyOperations' | 'JsonPatchNotApplicable'
  /** The index of the operation, -1 for the patch as a whole. */
  readonly operation: number

  constructor(code: JsonPatchError['code'], message: string, operation: number = -1) {
    super(message)
    this.code = code
    this.operation = operation
  }
}

/**
 * Applies a patch to a document. Neither is changed; parts without changes are shared with the document.
 * @throws JsonPatchError
 */
export function applyJsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  return runSteps(applyJsonPatchSteps(document, patch))
}

/** {@link applyJsonPatch} in steps: one operation each. */
export function* applyJsonPatchSteps(document: JsonValue, patch: JsonValue): Steps<JsonValue> {
  if (patch === null) return document
  if (!isJsonArray(patch)) {
    throw new JsonPatchError(
      'InvalidJsonPatch',
      `json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type jsonpatch.Patch`,
    )
  }
  if (patch.length > maxJsonPatchOperations) {
    throw new JsonPatchError(
      'TooManyOperations',
      `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${patch.length}`,
    )
  }
  const operations = patch.map((operation) => {
    if (isJsonObject(operation)) return operation
    if (operation === null) return {}
    throw new JsonPatchError(
      'InvalidJsonPatch',
      `json: cannot unmarshal ${jsonTypeName(operation)} into Go value of type jsonpatch.Operation`,
    )
  })
  const draft = new Draft(document)
  for (const [index, operation] of operations.entries()) {
    try {
      applyOperation(draft, operation)
    } catch (error) {
      if (error instanceof NotApplicable) throw new JsonPatchError('JsonPatchNotApplicable', error.message, index)
      throw error
    }
    yield
  }
  return draft.root
}

class NotApplicable extends Error {}

type Container = MutableJsonObject | JsonValue[]

/** A document that is being patched: containers are copied on first write. */
class Draft {
  root: JsonValue
  copied = 0
  readonly #owned = new WeakSet<object>()

  constructor(root: JsonValue) {
    this.root = root
  }

  /** Returns the writable container of the pointer's last token, and that token. */
  locate(pointer: string, context: string): { container: Container; key: string } {
    const missing = (): NotApplicable =>
      new NotApplicable(
        `${context} operation does not apply: doc is missing path: ${JSON.stringify(pointer)}: missing value`,
      )
    const last = pointer.lastIndexOf('/')
    if (last === -1) throw missing()
    let container = this.#own(this.root)
    if (container === undefined) throw missing()
    this.root = container
    // The server drops what is before the first slash, even when it is not empty. A pointer may be much longer than the
    // document is deep: it is read step by step.
    for (let slash = pointer.indexOf('/'); slash < last;) {
      const end = pointer.indexOf('/', slash + 1)
      const step = decodeStep(pointer.slice(slash + 1, end))
      const next = this.#own(readField(container, step) ?? null)
      if (next === undefined) throw missing()
      if (Array.isArray(container)) container[indexOf(container, step)] = next
      else setOwn(container, step, next)
      container = next
      slash = end
    }
    return { container, key: decodeStep(pointer.slice(last + 1)) }
  }

  #own(value: JsonValue): Container | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    if (this.#owned.has(value)) return value as Container
    const copy: Container = Array.isArray(value) ? [...(value as JsonValue[])] : { ...(value as MutableJsonObject) }
    this.#owned.add(copy)
    return copy
  }
}

function decodeStep(step: string): string {
  return step.replace(/~[01]/g, (escape) => (escape === '~1' ? '/' : '~'))
}

function applyOperation(draft: Draft, operation: JsonObject): void {
  const kind = ownValue(operation, 'op')
  switch (kind) {
    case 'add':
      return add(draft.locate(text(operation, 'path'), kind), ownValue(operation, 'value') ?? null)
    case 'remove':
      return remove(draft.locate(text(operation, 'path'), kind), kind, text(operation, 'path'))
    case 'replace':
      return replace(draft, text(operation, 'path'), ownValue(operation, 'value') ?? null)
    case 'move': {
      const from = draft.locate(text(operation, 'from'), kind)
      const value = readField(from.container, from.key) ?? null
      remove(from, kind, text(operation, 'from'))
      return add(draft.locate(text(operation, 'path'), kind), value)
    }
    case 'copy': {
      const from = draft.locate(text(operation, 'from'), kind)
      const value = readField(from.container, from.key) ?? null
      draft.copied += Buffer.byteLength(stringifyJson(value))
      if (draft.copied > maxJsonPatchCopyBytes) {
        throw new NotApplicable(
          `Unable to complete the copy, the accumulated size increase of copy is ${draft.copied}, exceeding the limit ${maxJsonPatchCopyBytes}`,
        )
      }
      return add(draft.locate(text(operation, 'path'), kind), cloneJson(value) as JsonValue)
    }
    case 'test':
      return test(draft, text(operation, 'path'), ownValue(operation, 'value'))
    default:
      throw new NotApplicable(`Unexpected kind: ${typeof kind === 'string' ? kind : 'unknown'}`)
  }
}

function text(operation: JsonObject, member: string): string {
  const value = ownValue(operation, member)
  if (typeof value !== 'string') throw new NotApplicable(`operation missing ${member} field`)
  return value
}

function add({ container, key }: { container: Container; key: string }, value: JsonValue): void {
  if (!Array.isArray(container)) return setOwn(container, key, value)
  if (key === '-') {
    container.push(value)
    return
  }
  container.splice(boundedIndex(key, container.length + 1), 0, value)
}

function remove({ container, key }: { container: Container; key: string }, kind: string, path: string): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(container, key), 1)
    return
  }
  if (!Object.hasOwn(container, key)) {
    const reason = `Unable to remove nonexistent key: ${key}: missing value`
    throw new NotApplicable(`error in ${kind} for path: '${path}': ${reason}`)
  }
  delete container[key]
}

function replace(draft: Draft, path: string, value: JsonValue): void {
  if (path === '') {
    if (typeof value !== 'object' || value === null)
      throw new NotApplicable('replace operation value must be object or array')
    draft.root = value
    return
  }
  const { container, key } = draft.locate(path, 'replace')
  if (Array.isArray(container)) container[indexOf(container, key)] = value
  else setOwn(container, key, value)
}

function test(draft: Draft, path: string, expected: JsonValue | undefined): void {
  let actual: JsonValue | undefined = draft.root
  if (path !== '') {
    const { container, key } = draft.locate(path, 'test')
    actual = readField(container, key)
  }
  if (!jsonEqual(actual ?? null, expected ?? null)) throw new NotApplicable(`testing value ${path} failed: test failed`)
}

/** Returns a field or element; undefined for a missing field. */
function readField(container: Container, key: string): JsonValue | undefined {
  return Array.isArray(container) ? container[indexOf(container, key)] : ownValue(container, key)
}

function indexOf(list: readonly JsonValue[], key: string): number {
  return boundedIndex(key, list.length)
}

/**
 * Parses an index as the server does: a decimal integer with sign and leading zeros; negative ones count from `length`.
 */
function boundedIndex(key: string, length: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw new NotApplicable(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`)
  const index = Number(key)
  if (index >= length || index < -length)
    throw new NotApplicable(`Unable to access invalid index: ${key}: invalid index referenced`)
  return index < 0 ? index + length : index + 0
}
