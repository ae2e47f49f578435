// Reading what hooks answer (R20, R21, Q10, Q12, Q13, Q24, Q26). Nothing of an answer is used when any part of it is wrong.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { parseApiVersion } from '@fairlead/kube'
import type { Identity } from './identity.ts'
import { formatIdentity } from './identity.ts'
import type { OutputKind } from './resource.ts'
import { groupResource } from './resource.ts'

/**
 * Why an answer of a hook was refused; nothing of it was used. The message says which output, and what to change.
 * - `MissingOutputs`: the field `outputs` is not there; an empty list would mean that none is wanted.
 * - `InvalidAnswer`: the answer is no JSON object, or a field of it has the wrong type.
 * - `UnknownField`: the answer has a field that nobody knows, or one twice, and the hook is strict.
 * - `InvalidOutput`: an output is no object with apiVersion, kind and name.
 * - `UndeclaredKind`: an output is of a kind that `outputResources` does not list.
 * - `OtherVersion`: an output is in another version of its kind than `outputResources` lists.
 * - `DuplicateOutput`: two outputs have the same kind, namespace and name.
 * - `OutOfScope`: an output is where its parent cannot own it: in another namespace, or cluster-scoped below a namespaced parent.
 */
export class ResponseError extends Error {
  override readonly name = 'ResponseError'
  readonly code:
    | 'MissingOutputs'
    | 'InvalidAnswer'
    | 'UnknownField'
    | 'InvalidOutput'
    | 'UndeclaredKind'
    | 'OtherVersion'
    | 'DuplicateOutput'
    | 'OutOfScope'

  constructor(code: ResponseError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** An output as a hook wants it: its identity, its kind, and the object itself. */
export interface DesiredOutput {
  readonly identity: Identity
  readonly kind: OutputKind
  readonly object: KubeObject
}

/** A map hook's answer. */
export interface MapResponse {
  readonly outputs: readonly DesiredOutput[]
  /** Seconds until the group wants to be asked again. */
  readonly resyncAfterSeconds: number | undefined
}

/** A tombstone hook's answer: the identities of the outputs that stay. Identities outside the group mean nothing (Q26). */
export interface TombstoneResponse {
  readonly keep: ReadonlySet<string>
  readonly resyncAfterSeconds: number | undefined
}

/** A parsed body, and the paths of fields that stood in it twice. */
export interface ResponseBody {
  readonly value: JsonValue
  readonly duplicates: readonly string[]
}

/** What answers are read against. */
export interface ResponseContext {
  readonly parent: KubeObject
  readonly kinds: readonly OutputKind[]
  /** Unknown and duplicate fields are errors. */
  readonly strict: boolean
}

/** Reads a map hook's answer. Throws ResponseError. */
export function readMapResponse(body: ResponseBody, context: ResponseContext): MapResponse {
  const { list, resyncAfterSeconds } = readEnvelope(body, context.strict, 'map')
  const outputs: DesiredOutput[] = []
  const places = new Map<string, number>()
  for (const [index, entry] of list.entries()) {
    const output = readOutput(entry, `outputs[${index}]`, context)
    const name = formatIdentity(output.identity)
    const first = places.get(name)
    if (first !== undefined) {
      throw new ResponseError(
        'DuplicateOutput',
        `outputs[${first}] and outputs[${index}] are both ${name}; give every output a name of its own`,
      )
    }
    places.set(name, index)
    outputs.push(output)
  }
  return { outputs, resyncAfterSeconds }
}

/** Reads a tombstone hook's answer: group, kind, namespace and name of each entry count, nothing else does. Throws ResponseError. */
export function readTombstoneResponse(body: ResponseBody, context: ResponseContext): TombstoneResponse {
  const { list, resyncAfterSeconds } = readEnvelope(body, context.strict, 'tombstone')
  const keep = new Set<string>()
  for (const [index, entry] of list.entries()) {
    const { apiVersion, kind, name, namespace } = readNames(entry, `outputs[${index}]`)
    const { group } = parseApiVersion(apiVersion)
    const declared = context.kinds.find((other) => other.group === group && other.kind === kind)
    if (declared === undefined) continue
    const inNamespace = declared.namespaced ? (namespace ?? context.parent.metadata.namespace ?? '') : ''
    keep.add(formatIdentity({ group, kind, namespace: inNamespace, name }))
  }
  return { keep, resyncAfterSeconds }
}

function readEnvelope(
  body: ResponseBody,
  strict: boolean,
  hook: 'map' | 'tombstone',
): { list: readonly JsonValue[]; resyncAfterSeconds: number | undefined } {
  const { value } = body
  if (!isObject(value))
    throw new ResponseError('InvalidAnswer', `The ${hook} hook must answer a JSON object with the field outputs`)
  if (strict) {
    const unknown = Object.keys(value).find((field) => field !== 'outputs' && field !== 'resyncAfterSeconds')
    if (unknown !== undefined)
      throw new ResponseError(
        'UnknownField',
        `The ${hook} hook answered the unknown field ${unknown}; it may answer outputs and resyncAfterSeconds`,
      )
    const duplicate = body.duplicates[0]
    if (duplicate !== undefined)
      throw new ResponseError('UnknownField', `The ${hook} hook answered the field ${duplicate} twice`)
  }
  const { outputs, resyncAfterSeconds } = value
  if (outputs === undefined || outputs === null) {
    throw new ResponseError(
      'MissingOutputs',
      `The ${hook} hook answered without the field outputs; an empty list means that none is wanted`,
    )
  }
  if (!Array.isArray(outputs))
    throw new ResponseError('InvalidAnswer', `outputs of the ${hook} hook's answer must be a list`)
  if (
    resyncAfterSeconds !== undefined &&
    resyncAfterSeconds !== null &&
    !(typeof resyncAfterSeconds === 'number' && resyncAfterSeconds >= 0)
  ) {
    throw new ResponseError(
      'InvalidAnswer',
      `resyncAfterSeconds of the ${hook} hook's answer must be a number of seconds`,
    )
  }
  // Zero is how hooks in languages with zero values say "not set".
  return {
    list: outputs as readonly JsonValue[],
    resyncAfterSeconds: (resyncAfterSeconds as number | null | undefined) || undefined,
  }
}

function readOutput(entry: JsonValue, place: string, { parent, kinds }: ResponseContext): DesiredOutput {
  const { apiVersion, kind, name, namespace, object } = readNames(entry, place)
  const { group } = parseApiVersion(apiVersion)
  const declared = kinds.find((other) => other.group === group && other.kind === kind)
  if (declared === undefined) {
    throw new ResponseError(
      'UndeclaredKind',
      `${place} is a ${kind} of ${apiVersion}, which outputResources does not list (it lists ${kinds.map(groupResource).join(', ')}); add the kind there or leave the output out`,
    )
  }
  if (declared.apiVersion !== apiVersion) {
    throw new ResponseError(
      'OtherVersion',
      `${place} is a ${kind} of ${apiVersion}, but outputResources lists ${declared.apiVersion}; use one version in both`,
    )
  }
  const identity = { group, kind, namespace: placeOf(place, declared, namespace, parent), name }
  return { identity, kind: declared, object }
}

/** The namespace an output goes to: an owner cannot own across namespaces (Q4). */
function placeOf(place: string, kind: OutputKind, namespace: string | undefined, parent: KubeObject): string {
  const own = parent.metadata.namespace ?? ''
  if (!kind.namespaced) {
    if (own !== '') {
      throw new ResponseError(
        'OutOfScope',
        `${place} is a ${kind.kind}, which is cluster-scoped; a parent in namespace ${own} cannot own it. Use a cluster-scoped parent`,
      )
    }
    if (namespace !== undefined)
      throw new ResponseError(
        'OutOfScope',
        `${place} is a ${kind.kind}, which is cluster-scoped, but has namespace ${namespace}; leave metadata.namespace out`,
      )
    return ''
  }
  if (own !== '') {
    if (namespace !== undefined && namespace !== own) {
      throw new ResponseError(
        'OutOfScope',
        `${place} is in namespace ${namespace}, but its parent is in ${own} and cannot own across namespaces. Use a cluster-scoped parent`,
      )
    }
    return own
  }
  if (namespace === undefined)
    throw new ResponseError(
      'OutOfScope',
      `${place} needs metadata.namespace: its parent is cluster-scoped and has none to give`,
    )
  return namespace
}

function readNames(
  entry: JsonValue,
  place: string,
): { apiVersion: string; kind: string; name: string; namespace: string | undefined; object: KubeObject } {
  if (!isObject(entry)) throw new ResponseError('InvalidOutput', `${place} must be an object`)
  const { apiVersion, kind, metadata } = entry
  if (typeof apiVersion !== 'string' || apiVersion === '')
    throw new ResponseError('InvalidOutput', `${place} needs apiVersion`)
  if (typeof kind !== 'string' || kind === '') throw new ResponseError('InvalidOutput', `${place} needs kind`)
  if (!isObject(metadata)) throw new ResponseError('InvalidOutput', `${place} needs metadata`)
  const { name, namespace } = metadata
  if (typeof name !== 'string' || name === '')
    throw new ResponseError(
      'InvalidOutput',
      `${place} needs metadata.name; names that the server makes up cannot be found again`,
    )
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    throw new ResponseError('InvalidOutput', `${place} has a metadata.namespace that is not a text`)
  for (const field of ['labels', 'annotations']) {
    const values = metadata[field] ?? {}
    if (!isObject(values) || !Object.values(values).every((value) => typeof value === 'string')) {
      throw new ResponseError('InvalidOutput', `${place} has metadata.${field} that are not all texts`)
    }
  }
  for (const field of ['ownerReferences', 'finalizers']) {
    if (!Array.isArray(metadata[field] ?? []))
      throw new ResponseError('InvalidOutput', `${place} has metadata.${field} that is not a list`)
  }
  return { apiVersion, kind, name, namespace: namespace || undefined, object: entry as unknown as KubeObject }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
