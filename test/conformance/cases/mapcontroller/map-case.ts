// A case of mapcontroller.json, typed. References to objects are `Kind/namespace/name`, or `Kind/name` for cluster-scoped ones.
import type { KubeObject } from '@fairlead/kube'
import type { Case, CaseFile } from '../case-file.ts'
import type { Area } from '../suite.ts'

/** A kind that the cases use. */
export interface CaseResource {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly statusSubresource?: boolean
}

/** What happens. */
export type Trigger =
  | { readonly type: 'full-sync' }
  | { readonly type: 'input-added' | 'input-deleted'; readonly ref: string }
  | { readonly type: 'input-updated'; readonly ref: string; readonly oldLabels?: Readonly<Record<string, string>> }
  | { readonly type: 'output-deleted'; readonly ref: string; readonly wasTaggedFor: string }
  | { readonly type: 'parent-spec-updated' | 'parent-status-updated' }
  | { readonly type: 'clock-advance'; readonly seconds: number }

/** An object of an output kind as a case states it. */
export interface CaseOutput {
  readonly object: KubeObject
  /** `parent`, nobody, or a uid. */
  readonly owner: string | null
  readonly taggedFor: string | null
  readonly taggedBy?: string
  readonly lastApplied?: KubeObject
}

/** What a hook answers. */
export type CaseAnswer =
  | { readonly outputs: unknown }
  | {
      readonly error: {
        readonly status: number
        readonly headers?: Readonly<Record<string, string>>
        readonly body?: unknown
      }
    }
  | { readonly rawBody: unknown }

/** Answers by input, and for all others. */
export interface CaseHooks {
  readonly map?: Readonly<Record<string, CaseAnswer>>
  readonly tombstone?: Readonly<Record<string, CaseAnswer>>
  readonly mapDefault?: CaseAnswer
  readonly tombstoneDefault?: CaseAnswer
}

/** A MapController whose hooks are only named. */
export interface CaseController {
  readonly name: string
  readonly spec: Readonly<Record<string, unknown>> & { readonly hooks: readonly ('map' | 'tombstone')[] }
}

/** `input`. */
export interface MapInput {
  readonly trigger: Trigger
  readonly controller: CaseController
  readonly parent: KubeObject
  readonly inputs: readonly KubeObject[]
  readonly outputs: readonly CaseOutput[]
  readonly hooks: CaseHooks
  readonly unlistable?: readonly string[]
}

/** A first request: kinds and keys of its outputs, and fields that it must not have. */
export interface WantedRequest {
  readonly outputs?: Readonly<Record<string, readonly string[]>>
  readonly absent?: readonly string[]
}

/** A write. */
export interface WantedWrite {
  readonly op: 'create' | 'update' | 'delete'
  readonly ref: string
  readonly taggedFor?: string | null
  readonly controllerRef?: string | null
  readonly preconditionUid?: string
  readonly propagationPolicy?: string
  readonly resultSpec?: unknown
}

/** `want`. */
export interface MapWant {
  readonly mapCalled?: readonly string[]
  readonly tombstoneCalled?: readonly string[]
  readonly mapCalls?: number
  readonly mapFirstRequest?: Readonly<Record<string, WantedRequest>>
  readonly tombstoneFirstRequest?: Readonly<Record<string, WantedRequest>>
  readonly writes?: readonly WantedWrite[]
  readonly writesInOrder?: true
  readonly unchanged?: readonly string[]
  readonly status?: unknown
  readonly events?: readonly { readonly on?: string; readonly type?: string; readonly reason?: string }[]
  readonly requeue?: { readonly kind?: 'backoff' | 'after'; readonly seconds?: number; readonly scope?: string }
}

/** A case, and the kinds of its file. */
export interface MapCase {
  readonly input: MapInput
  readonly want: MapWant
  readonly resources: readonly CaseResource[]
}

/** The keys of the area `map`. */
export const mapArea: Area = {
  input: ['trigger', 'controller', 'parent', 'inputs', 'outputs', 'hooks', 'unlistable'],
  want: [
    'mapCalled',
    'tombstoneCalled',
    'mapCalls',
    'mapFirstRequest',
    'tombstoneFirstRequest',
    'writes',
    'writesInOrder',
    'unchanged',
    'status',
    'events',
    'requeue',
  ],
}

const triggerKeys: Readonly<Record<Trigger['type'], readonly string[]>> = {
  'full-sync': [],
  'input-added': ['ref'],
  'input-updated': ['ref', 'oldLabels'],
  'input-deleted': ['ref'],
  'output-deleted': ['ref', 'wasTaggedFor'],
  'parent-spec-updated': [],
  'parent-status-updated': [],
  'clock-advance': ['seconds'],
}

/** Keys within a case's parts that nobody knows; a case that has any fails. */
export function unknownParts({ input, want }: MapCase): string[] {
  const unknown: string[] = []
  const check = (at: string, value: object | undefined, keys: readonly string[]): void => {
    for (const key of Object.keys(value ?? {})) if (!keys.includes(key)) unknown.push(`${at}.${key}`)
  }
  const trigger = triggerKeys[input.trigger.type] as readonly string[] | undefined
  if (trigger === undefined) unknown.push(`input.trigger.type ${input.trigger.type}`)
  check('input.trigger', input.trigger, ['type', 'startFrom', ...(trigger ?? [])])
  check('input.controller', input.controller, ['name', 'spec'])
  check('input.hooks', input.hooks, ['map', 'tombstone', 'mapDefault', 'tombstoneDefault'])
  for (const output of input.outputs)
    check('input.outputs[]', output, ['object', 'owner', 'taggedFor', 'taggedBy', 'lastApplied'])
  for (const requests of [want.mapFirstRequest, want.tombstoneFirstRequest]) {
    for (const request of Object.values(requests ?? {})) check('want.firstRequest', request, ['outputs', 'absent'])
  }
  const writeKeys = ['op', 'ref', 'taggedFor', 'controllerRef', 'preconditionUid', 'propagationPolicy', 'resultSpec']
  for (const write of want.writes ?? []) check('want.writes[]', write, writeKeys)
  for (const event of want.events ?? []) check('want.events[]', event, ['on', 'type', 'reason'])
  check('want.requeue', want.requeue, ['kind', 'seconds', 'scope'])
  return unknown
}

/** Reads a case. */
export function readMapCase(entry: Case, file: CaseFile): MapCase {
  const { resources } = file.more as { readonly resources?: readonly CaseResource[] }
  const input = { inputs: [], outputs: [], hooks: {}, ...entry.input } as unknown as MapInput
  return { input, want: entry.want as unknown as MapWant, resources: resources ?? [] }
}

/** The reference of an object. */
export function refOf(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata
  return namespace === undefined ? `${object.kind}/${name}` : `${object.kind}/${namespace}/${name}`
}

/** The parts of a reference. */
export function parseRef(ref: string): {
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
} {
  const [kind = '', first = '', second] = ref.split('/')
  return second === undefined ? { kind, namespace: undefined, name: first } : { kind, namespace: first, name: second }
}
