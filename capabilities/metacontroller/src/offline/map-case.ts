// A case of a MapController: a state, a trigger and the wanted result. `fairlead map test` plays cases with the engine
// alone; Fairlead's own tests play the same files with a running controller. References to objects are
// `Kind/namespace/name`, or `Kind/name` for cluster-scoped ones.
import type { JsonValue, KubeObject } from '@fairlead/kube'
import type { MapControllerSpec } from '../api.ts'
import type { HookName } from '../engine/hook.ts'

/** A kind that the cases of a file use. */
export interface CaseResource {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly statusSubresource?: boolean
}

/** The event of a case. */
export type CaseTrigger =
  | { readonly type: 'full-sync' }
  | { readonly type: 'input-added' | 'input-deleted'; readonly ref: string }
  | { readonly type: 'input-updated'; readonly ref: string; readonly oldLabels?: Readonly<Record<string, string>> }
  | { readonly type: 'output-deleted'; readonly ref: string; readonly wasTaggedFor: string }
  | { readonly type: 'parent-spec-updated' | 'parent-status-updated' }
  | { readonly type: 'clock-advance'; readonly seconds: number }

/** An object of an output kind. */
export interface CaseOutput {
  readonly object: KubeObject
  /** The controlling owner: `parent`, null for none, or a uid. */
  readonly owner: string | null
  /** Reference of the input whose tag it carries; null without a tag. */
  readonly taggedFor: string | null
  /** Name of the MapController in the tag; that of the case when left out. */
  readonly taggedBy?: string
  /** The output as the hook returned it at the last write; the object itself when left out. */
  readonly lastApplied?: KubeObject
}

/** The response of a hook: outputs, a body as it is, or an HTTP error. */
export interface CaseResponse {
  readonly outputs?: JsonValue
  readonly rawBody?: JsonValue
  readonly error?: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: JsonValue
  }
}

/** Responses by the reference of the input, and for all others. */
export interface CaseHooks {
  readonly map?: Readonly<Record<string, CaseResponse>>
  readonly tombstone?: Readonly<Record<string, CaseResponse>>
  readonly mapDefault?: CaseResponse
  readonly tombstoneDefault?: CaseResponse
}

/** A MapController: with hooks of its own, or with the names of hooks that respond as the case says. */
export interface CaseController {
  readonly name: string
  readonly spec: MapControllerSpec | NamedHooksSpec
}

/** A spec whose hooks are only named. */
export type NamedHooksSpec = Omit<MapControllerSpec, 'hooks'> & { readonly hooks: readonly HookName[] }

/** The state and the trigger of a case. */
export interface MapCaseInput {
  readonly trigger: CaseTrigger
  readonly controller: CaseController
  readonly parent: KubeObject
  readonly inputs?: readonly KubeObject[]
  readonly outputs?: readonly CaseOutput[]
  /** Objects that relatedResources may select. */
  readonly related?: readonly KubeObject[]
  readonly hooks?: CaseHooks
  /** Plurals of input kinds that cannot be listed. */
  readonly unlistable?: readonly string[]
}

/** A first request: kinds and keys of its outputs, and fields that it must not have. */
export interface WantedRequest {
  readonly outputs?: Readonly<Record<string, readonly string[]>>
  readonly absent?: readonly string[]
}

/** A write. */
export interface WantedWrite {
  readonly op: 'create' | 'update' | 'delete' | 'release'
  readonly ref: string
  readonly taggedFor?: string | null
  readonly controllerRef?: string | null
  readonly preconditionUid?: string
  readonly propagationPolicy?: string
  readonly resultSpec?: unknown
}

/** The wanted result of a case. */
export interface MapCaseWant {
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

/** A case. */
export interface MapCase {
  readonly id: string
  readonly title?: string
  readonly input: MapCaseInput
  readonly want: MapCaseWant
}

/** Returns whether a spec only names its hooks. */
export function hasNamedHooks(spec: CaseController['spec']): spec is NamedHooksSpec {
  return Array.isArray(spec.hooks)
}

/** Returns the reference of an object. */
export function refOf(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata
  return namespace === undefined ? `${object.kind}/${name}` : `${object.kind}/${namespace}/${name}`
}

/** Returns the parts of a reference. */
export function parseRef(ref: string): {
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
} {
  const [kind = '', first = '', second] = ref.split('/')
  return second === undefined ? { kind, namespace: undefined, name: first } : { kind, namespace: first, name: second }
}
