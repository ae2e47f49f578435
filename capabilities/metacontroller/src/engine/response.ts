// Reads the responses of hooks (R20, R21, Q10, Q12, Q13, Q24, Q26). A response with any error is refused as a whole.
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { isJsonObject, parseApiVersion } from '@fairlead/kube'
import type { HookEvent } from './hook-event.ts'
import { readEvents } from './hook-event.ts'
import type { Identity } from './identity.ts'
import { formatIdentity } from './identity.ts'
import type { OutputKind, ResolvedResource } from './resource.ts'
import { groupResource } from './resource.ts'
import { ResponseError } from './response-error.ts'

export { ResponseError } from './response-error.ts'

/** An output as the hook wants it: its identity, its kind, and the object itself. */
export type DesiredOutput = DesiredObject<OutputKind>

/** The response of a map hook. */
export interface MapResponse {
  readonly outputs: readonly DesiredOutput[]
  /** Seconds until the hook wants to be called again. */
  readonly resyncAfterSeconds: number | undefined
  /** Events to record on the parent. */
  readonly events: readonly HookEvent[]
}

/**
 * The response of a tombstone hook: the identities of the outputs to keep. Identities outside the group are ignored
 * (Q26).
 */
export interface TombstoneResponse {
  readonly keep: ReadonlySet<string>
  readonly resyncAfterSeconds: number | undefined
  readonly events: readonly HookEvent[]
}

/** A parsed body, and the paths of its duplicate fields. */
export interface ResponseBody {
  readonly value: JsonValue
  readonly duplicates: readonly string[]
  /** Digest of the text; undefined for a body that was not received as text. */
  readonly digest?: string
}

/** The context that a response is checked against. */
export interface ResponseContext {
  readonly parent: KubeObject
  readonly kinds: readonly OutputKind[]
  /** Unknown and duplicate fields are errors. */
  readonly strict: boolean
}

/** Reads the response of a map hook. Throws ResponseError. */
export function readMapResponse(body: ResponseBody, context: ResponseContext): MapResponse {
  const { list, ...envelope } = readEnvelope(body, context.strict, 'map')
  const outputs: DesiredOutput[] = []
  const indexes = new Map<string, number>()
  for (const [index, entry] of list.entries()) {
    const output = readOutput(entry, `outputs[${index}]`, { ...context, declaredIn: 'outputResources' })
    const name = formatIdentity(output.identity)
    const first = indexes.get(name)
    if (first !== undefined) {
      throw new ResponseError(
        'DuplicateOutput',
        `outputs[${first}] and outputs[${index}] are both ${name}; give each output a name of its own`,
      )
    }
    indexes.set(name, index)
    outputs.push(output)
  }
  return { outputs, ...envelope }
}

/** Reads the response of a tombstone hook: of each entry only group, kind, namespace and name. Throws ResponseError. */
export function readTombstoneResponse(body: ResponseBody, context: ResponseContext): TombstoneResponse {
  const { list, ...envelope } = readEnvelope(body, context.strict, 'tombstone')
  const keep = new Set<string>()
  for (const [index, entry] of list.entries()) {
    const { apiVersion, kind, name, namespace } = readNames(entry, `outputs[${index}]`)
    const { group } = parseApiVersion(apiVersion)
    const declared = context.kinds.find((other) => other.group === group && other.kind === kind)
    if (declared === undefined) continue
    const inNamespace = declared.namespaced ? (namespace ?? context.parent.metadata.namespace ?? '') : ''
    keep.add(formatIdentity({ group, kind, namespace: inNamespace, name }))
  }
  return { keep, ...envelope }
}

const envelopeFields: readonly string[] = ['outputs', 'resyncAfterSeconds', 'events']

function readEnvelope(
  body: ResponseBody,
  strict: boolean,
  hook: 'map' | 'tombstone',
): { list: readonly JsonValue[]; resyncAfterSeconds: number | undefined; events: readonly HookEvent[] } {
  const { value } = body
  if (!isJsonObject(value))
    throw new ResponseError(
      'InvalidResponse',
      `The ${hook} hook must respond with a JSON object that has the field outputs`,
    )
  if (strict) {
    const unknown = Object.keys(value).find((field) => !envelopeFields.includes(field))
    if (unknown !== undefined)
      throw new ResponseError(
        'UnknownField',
        `The ${hook} hook responded with the unknown field ${unknown}; the fields are ${envelopeFields.join(', ')}`,
      )
    const duplicate = body.duplicates[0]
    if (duplicate !== undefined)
      throw new ResponseError('UnknownField', `The ${hook} hook responded with the field ${duplicate} twice`)
  }
  const { outputs, resyncAfterSeconds } = value
  if (outputs === undefined || outputs === null) {
    throw new ResponseError(
      'MissingOutputs',
      `The ${hook} hook responded without the field outputs; an empty list means that no output is wanted`,
    )
  }
  if (!Array.isArray(outputs))
    throw new ResponseError('InvalidResponse', `outputs in the response of the ${hook} hook must be a list`)
  if (
    resyncAfterSeconds !== undefined &&
    resyncAfterSeconds !== null &&
    !(typeof resyncAfterSeconds === 'number' && resyncAfterSeconds >= 0)
  ) {
    throw new ResponseError(
      'InvalidResponse',
      `resyncAfterSeconds in the response of the ${hook} hook must be a number of seconds`,
    )
  }
  // Hooks in languages with zero values send 0 for "not set".
  return {
    list: outputs as readonly JsonValue[],
    resyncAfterSeconds: boundedResync((resyncAfterSeconds as number | null | undefined) || undefined),
    events: readEvents(value['events'], strict),
  }
}

/** Seconds: a hook that wants to be called again at once would be called in a loop; timers have an upper bound. */
const [minResync, maxResync] = [1, 30 * 24 * 3600]

function boundedResync(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.min(Math.max(seconds, minResync), maxResync)
}

/** An object that a hook wants, of a declared kind. */
export interface DesiredObject<K extends ResolvedResource> {
  readonly identity: Identity
  readonly kind: K
  readonly object: KubeObject
}

/** The parent of desired objects, the kinds that they may have, and the field of the spec that declares the kinds. */
export interface DeclaredKinds<K extends ResolvedResource> {
  readonly parent: KubeObject
  readonly kinds: readonly K[]
  readonly declaredIn: string
}

/** Reads a desired object. `path` is its place in the response. Throws ResponseError. */
export function readOutput<K extends ResolvedResource>(
  entry: JsonValue,
  path: string,
  { parent, kinds, declaredIn }: DeclaredKinds<K>,
): DesiredObject<K> {
  const { apiVersion, kind, name, namespace, object } = readNames(entry, path)
  const { group } = parseApiVersion(apiVersion)
  const declared = kinds.find((other) => other.group === group && other.kind === kind)
  if (declared === undefined) {
    throw new ResponseError(
      'UndeclaredKind',
      `${path} is a ${kind} of ${apiVersion}, which ${declaredIn} does not list (it lists ${kinds.map(groupResource).join(', ')}); add the kind there or leave the output out`,
    )
  }
  if (declared.apiVersion !== apiVersion) {
    throw new ResponseError(
      'OtherVersion',
      `${path} is a ${kind} of ${apiVersion}, but ${declaredIn} lists ${declared.apiVersion}; use one version in both`,
    )
  }
  const identity = { group, kind, namespace: namespaceOf(path, declared, namespace, parent), name }
  return { identity, kind: declared, object }
}

/** Returns the namespace of an output: an owner cannot own across namespaces (Q4). */
function namespaceOf(path: string, kind: ResolvedResource, namespace: string | undefined, parent: KubeObject): string {
  const own = parent.metadata.namespace ?? ''
  if (!kind.namespaced) {
    if (own !== '') {
      throw new ResponseError(
        'OutOfScope',
        `${path} is a ${kind.kind}, which is cluster-scoped; a parent in namespace ${own} cannot own it. Use a cluster-scoped parent`,
      )
    }
    if (namespace !== undefined)
      throw new ResponseError(
        'OutOfScope',
        `${path} is a ${kind.kind}, which is cluster-scoped, but has namespace ${namespace}; leave metadata.namespace out`,
      )
    return ''
  }
  if (own !== '') {
    if (namespace !== undefined && namespace !== own) {
      throw new ResponseError(
        'OutOfScope',
        `${path} is in namespace ${namespace}, but its parent is in ${own} and cannot own across namespaces. Use a cluster-scoped parent`,
      )
    }
    return own
  }
  if (namespace === undefined)
    throw new ResponseError('OutOfScope', `${path} needs metadata.namespace, because its parent is cluster-scoped`)
  return namespace
}

function readNames(
  entry: JsonValue,
  path: string,
): { apiVersion: string; kind: string; name: string; namespace: string | undefined; object: KubeObject } {
  if (!isJsonObject(entry)) throw new ResponseError('InvalidOutput', `${path} must be an object`)
  const { apiVersion, kind, metadata } = entry
  if (typeof apiVersion !== 'string' || apiVersion === '')
    throw new ResponseError('InvalidOutput', `${path} needs apiVersion`)
  if (typeof kind !== 'string' || kind === '') throw new ResponseError('InvalidOutput', `${path} needs kind`)
  if (!isJsonObject(metadata)) throw new ResponseError('InvalidOutput', `${path} needs metadata`)
  const { name, namespace } = metadata
  if (typeof name !== 'string' || name === '')
    throw new ResponseError('InvalidOutput', `${path} needs metadata.name; a generated name could not be found again`)
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    throw new ResponseError('InvalidOutput', `${path} has a metadata.namespace that is not a string`)
  for (const field of ['labels', 'annotations']) {
    const values = metadata[field] ?? {}
    if (!isJsonObject(values) || !Object.values(values).every((value) => typeof value === 'string')) {
      throw new ResponseError('InvalidOutput', `${path} has metadata.${field} that are not all strings`)
    }
  }
  for (const field of ['ownerReferences', 'finalizers']) {
    if (!Array.isArray(metadata[field] ?? []))
      throw new ResponseError('InvalidOutput', `${path} has metadata.${field} that is not a list`)
  }
  return { apiVersion, kind, name, namespace: namespace || undefined, object: entry as unknown as KubeObject }
}
