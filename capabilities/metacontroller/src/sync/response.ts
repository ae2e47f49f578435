// Reads the responses of sync, finalize and customize hooks. A response with any error is refused as a whole.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import type { RelatedResource } from '../api.ts'
import type { Child, ChildKind } from '../children/child.ts'
import { childKey } from '../children/child.ts'
import type { HookEvent } from '../engine/hook-event.ts'
import { readEvents } from '../engine/hook-event.ts'
import type { ResponseBody } from '../engine/response.ts'
import { ResponseError, readOutput } from '../engine/response.ts'

/** The response of a sync or finalize hook. */
export interface SyncResponse {
  readonly children: readonly Child[]
  /** The status of the parent; null when the response has none. */
  readonly status: JsonObject | null
  /** Values of labels and annotations to set on the parent; null removes one. For decorators. */
  readonly labels: Readonly<Record<string, string | null>>
  readonly annotations: Readonly<Record<string, string | null>>
  /** Seconds until the hook wants to be called again; undefined when it does not ask for it. */
  readonly resyncAfterSeconds: number | undefined
  /** The finalizer may go. */
  readonly finalized: boolean
  /** Events to record on the parent. */
  readonly events: readonly HookEvent[]
}

/** The context that a response is read in. */
export interface SyncResponseContext {
  readonly hook: 'sync' | 'finalize'
  /** The field with the children, and the other fields that a response may have. */
  readonly list: 'children' | 'attachments'
  readonly fields: readonly string[]
  readonly parent: KubeObject
  readonly kinds: readonly ChildKind[]
  readonly strict: boolean
}

/** Longest interval that a hook may ask for, in seconds: timers have an upper bound. */
const maxResync = 30 * 24 * 3600

/** Reads the response of a sync or finalize hook. Throws ResponseError. */
export function readSyncResponse(body: ResponseBody, context: SyncResponseContext): SyncResponse {
  const { hook, list, parent, kinds, strict } = context
  const value = readObject(body, hook, strict ? context.fields : undefined)
  const { status = null, resyncAfterSeconds, finalized } = value
  if (status !== null && !isJsonObject(status)) throw wrongType(hook, 'status', 'an object')
  return {
    children: readChildren(value[list], { hook, list, parent, kinds, strict }),
    status,
    labels: readStrings(hook, 'labels', value['labels']),
    annotations: readStrings(hook, 'annotations', value['annotations']),
    resyncAfterSeconds: readSeconds(hook, resyncAfterSeconds),
    finalized: finalized === true,
    events: readEvents(value['events'], strict),
  }
}

/** Reads the rules of a customize hook. Throws ResponseError. */
export function readCustomizeResponse(body: ResponseBody, strict: boolean): readonly RelatedResource[] {
  const { relatedResources = null } = readObject(body, 'customize', strict ? ['relatedResources'] : undefined)
  if (relatedResources === null) return []
  if (!Array.isArray(relatedResources)) throw wrongType('customize', 'relatedResources', 'a list')
  return (relatedResources as readonly JsonValue[]).map((entry, index) => {
    const { apiVersion, resource, names, ...rest } = isJsonObject(entry) ? entry : {}
    if (typeof apiVersion !== 'string' || typeof resource !== 'string')
      throw new ResponseError('InvalidResponse', `relatedResources[${index}] needs apiVersion and resource`)
    const given = Object.fromEntries(Object.entries(rest).filter(([, field]) => field !== null && field !== ''))
    const named = Array.isArray(names) && names.length > 0 ? { names } : {}
    return { apiVersion, resource, ...given, ...named } as unknown as RelatedResource
  })
}

function readObject(body: ResponseBody, hook: string, fields: readonly string[] | undefined): JsonObject {
  const { value, duplicates } = body
  if (!isJsonObject(value))
    throw new ResponseError('InvalidResponse', `The ${hook} hook must respond with a JSON object`)
  if (fields === undefined) return value
  const unknown = Object.keys(value).find((field) => !fields.includes(field))
  if (unknown !== undefined)
    throw new ResponseError(
      'UnknownField',
      `The ${hook} hook responded with the unknown field ${unknown}; the fields are ${fields.join(', ')}`,
    )
  const [duplicate] = duplicates
  if (duplicate !== undefined)
    throw new ResponseError('UnknownField', `The ${hook} hook responded with the field ${duplicate} twice`)
  return value
}

/** Of two children of one name the last one counts, as in Metacontroller. */
function readChildren(
  value: JsonValue | undefined,
  { hook, list, parent, kinds, strict }: Omit<SyncResponseContext, 'fields'>,
): readonly Child[] {
  if (value === null && strict)
    throw new ResponseError(
      'MissingOutputs',
      `The ${hook} hook responded with ${list}: null; an empty list means that none are wanted`,
    )
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) throw wrongType(hook, list, 'a list')
  const declaredIn = list === 'children' ? 'childResources' : 'attachments'
  const found = new Map<string, Child>()
  for (const [index, entry] of (value as readonly JsonValue[]).entries()) {
    if (entry === null) continue
    const { kind, object, identity } = readOutput(entry, `${list}[${index}]`, { parent, kinds, declaredIn })
    const { namespace } = identity
    const placed = namespace === '' ? object : { ...object, metadata: { ...object.metadata, namespace } }
    const child = { kind, object: placed }
    found.set(childKey(child), child)
  }
  return [...found.values()]
}

function readStrings(hook: string, field: string, value: JsonValue | undefined): Record<string, string | null> {
  if (value === null || value === undefined) return {}
  const isValid = isJsonObject(value) && Object.values(value).every((one) => one === null || typeof one === 'string')
  if (!isValid) throw wrongType(hook, field, 'an object of strings')
  return value as unknown as Record<string, string | null>
}

function readSeconds(hook: string, value: JsonValue | undefined): number | undefined {
  if (value === null || value === undefined || value === 0) return undefined
  if (typeof value !== 'number') throw wrongType(hook, 'resyncAfterSeconds', 'a number of seconds')
  return value < 0 ? undefined : Math.min(value, maxResync)
}

function wrongType(hook: string, field: string, type: string): ResponseError {
  return new ResponseError('InvalidResponse', `${field} in the response of the ${hook} hook must be ${type}`)
}
