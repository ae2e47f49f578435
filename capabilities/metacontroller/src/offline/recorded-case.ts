// Cases from requests and responses of hooks, in the form that `fairlead metacontroller test` reads: what was sent is
// the state, and the decision on what was answered is what must follow. Start with CaseRecorder.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { configurationOf } from '../engine/configuration.ts'
import type { Hooks } from '../engine/hook.ts'
import { identityOf, parseIdentity } from '../engine/identity.ts'
import type { ResponseBody } from '../engine/response.ts'
import { appliedAnnotation, inputAnnotation, tagOf } from '../engine/tag.ts'
import type { HookCaller, SyncHooks } from '../sync/sync-hooks.ts'
import { playCase } from './case-player.ts'
import { definitionOf } from './case-resource.ts'
import type { CaseOutput, CaseResource, MapCase } from './map-case.ts'
import { isSecret, recordable, withoutCredentials } from './redaction.ts'
import type { SyncCase } from './sync-case.ts'
import { playSyncCase } from './sync-case.ts'
import type { SyncManifest } from './sync-rendering.ts'

/** Objects of a request, by kind and key. */
type ObjectMap = Readonly<Record<string, Readonly<Record<string, KubeObject>>>>

/** The bodies that hooks get: those of sync and finalize hooks, of customize hooks, of map and tombstone hooks. */
interface HookRequest {
  readonly controller?: KubeObject
  readonly parent?: KubeObject
  readonly object?: KubeObject
  readonly children?: ObjectMap
  readonly attachments?: ObjectMap
  readonly related?: ObjectMap
  readonly finalizing?: boolean
  readonly mapKey?: string
  readonly input?: KubeObject
  readonly outputs?: ObjectMap
}

/** Makes cases of the requests to the hooks of some controllers. */
export class CaseRecorder {
  readonly resources: readonly CaseResource[]
  readonly #controllers: readonly KubeObject[]
  readonly #signal: AbortSignal
  /** The responses of customize hooks, by the uid of the parent. */
  readonly #customized = new Map<string, JsonValue>()
  #count = 0

  /** `resources` are the kinds that the controllers name. */
  constructor(controllers: readonly KubeObject[], resources: readonly CaseResource[], signal: AbortSignal) {
    this.#controllers = controllers
    this.resources = resources
    this.#signal = signal
  }

  /** Returns the case of a request and its response; undefined for those that decide nothing. */
  async record(request: JsonValue, response: JsonValue): Promise<MapCase | SyncCase | undefined> {
    if (!isJsonObject(request)) return undefined
    const body = request as HookRequest
    const parent = body.parent ?? body.object
    if (parent === undefined) return undefined
    if (body.mapKey !== undefined) return this.#mapCase(body, parent, response)
    if (body.finalizing !== undefined) return this.#syncCase(body, parent, response)
    this.#customized.set(parent.metadata.uid ?? '', response)
    return undefined
  }

  async #syncCase(body: HookRequest, given: KubeObject, response: JsonValue): Promise<SyncCase | undefined> {
    const kind = body.object === undefined ? 'CompositeController' : 'DecoratorController'
    const { controller: sent } = body
    if (sent === undefined || !isJsonObject(sent.spec)) return undefined
    const controller = { kind, name: sent.metadata.name ?? '', spec: withoutCredentials(sent.spec) } as const
    const parent = recordable(given)
    const children = objectsOf(body.children ?? body.attachments)
    const objects = [...children, ...objectsOf(body.related)].map(recordable)
    const id = this.#id(body.finalizing === true ? 'finalize' : 'sync', parent)
    const input = { controller, parent, ...(objects.length === 0 ? {} : { objects }) }
    const customized = this.#customized.get(given.metadata.uid ?? '') ?? {}
    const outcome = await playSyncCase(
      { id, input, want: {} },
      {
        definitions: this.#definitions(),
        hooksFor: (manifest) => answeringHooks(manifest, response, customized),
        signal: this.#signal,
      },
    )
    const wanted = new Map(childrenOf(response).map((child) => [nameOf(child), child]))
    const hasSecrets = [...children, ...wanted.values()].some(isSecret)
    const { error, finalized, resyncAfterSeconds } = outcome
    const writes = outcome.writes.map(({ op, ref, object }) => {
      const { status: _status, ...fields } = (wanted.get(nameOf(object as unknown as KubeObject)) ?? {}) as JsonObject
      return { op, ref, ...(op === 'create' || op === 'update' ? { object: fields } : {}) }
    })
    const { observedGeneration: _generation, ...status } = outcome.status ?? {}
    return {
      id,
      input,
      want:
        error === undefined
          ? {
              ...(hasSecrets ? {} : { writes }),
              ...filled({ status, labels: outcome.labels, annotations: outcome.annotations }),
              ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
              ...(body.finalizing === true ? { finalized: finalized === true } : {}),
            }
          : { error },
    }
  }

  async #mapCase(body: HookRequest, given: KubeObject, response: JsonValue): Promise<MapCase | undefined> {
    const controller = body.controller ?? this.#controllers.find(({ kind }) => kind === 'MapController')
    if (controller === undefined || !isJsonObject(controller.spec)) return undefined
    const parent = recordable(given)
    const { name = '' } = controller.metadata
    const before = objectsOf(body.outputs)
    const wanted = childrenOf(response)
    const outputs = before.flatMap((output) => caseOutput(output, wanted, given) ?? [])
    const related = objectsOf(body.related).map(recordable)
    const id = this.#id(body.input === undefined ? 'tombstone' : 'map', body.input ?? parent)
    const entry = {
      id,
      input: {
        trigger: { type: 'full-sync' },
        controller: { name, spec: withoutCredentials(controller.spec) as unknown as MapController['spec'] },
        parent,
        inputs: body.input === undefined ? [] : [recordable(body.input)],
        ...(outputs.length === 0 ? {} : { outputs }),
        ...(related.length === 0 ? {} : { related }),
      },
      want: {},
    } as const satisfies MapCase
    const outcome = await playCase(entry, {
      definitions: this.#definitions(),
      hooksFor: () => answeringMapHooks(response),
      signal: this.#signal,
    })
    const called = body.input === undefined ? 'tombstoneCalled' : 'mapCalled'
    const isChecked = outcome.warnings.length === 0 && ![...before, ...wanted].some(isSecret)
    const writes = outcome.writes.map(({ op, ref }) => ({ op: op as 'create', ref }))
    return { ...entry, want: { [called]: outcome[called], ...(isChecked ? { writes } : {}) } }
  }

  #id(hook: string, { kind, metadata: { namespace, name = '' } }: KubeObject): string {
    return [hook, kind.toLowerCase(), ...(namespace === undefined ? [] : [namespace]), name, ++this.#count].join('-')
  }

  #definitions(): readonly KubeObject[] {
    return this.resources.map(definitionOf)
  }
}

/** Returns an output as cases have it: with the last response where it is the one that was applied. */
function caseOutput(output: KubeObject, wanted: readonly KubeObject[], parent: KubeObject): CaseOutput | undefined {
  const tag = tagOf(output)
  const input = parseIdentity(output.metadata.annotations?.[inputAnnotation] ?? '')
  if (tag === undefined || input === undefined) return undefined
  const { kind, namespace, name } = input
  const object = recordable(output)
  const { ownerReferences: _owners, uid: _uid, resourceVersion: _version, ...metadata } = object.metadata
  const same = wanted.find((one) => nameOf(one) === nameOf(output))
  const identity = identityOf(output)
  const resource = {
    ...identity,
    apiVersion: output.apiVersion,
    plural: '',
    namespaced: true,
    method: 'OnDelete',
  } as const
  const digest =
    same && configurationOf({ identity, kind: resource, object: same }, { tag, parent, hops: 1, seen: '' }).digest
  const isApplied = digest !== undefined && digest === output.metadata.annotations?.[appliedAnnotation]
  return {
    object: { ...object, metadata },
    owner: 'parent',
    taggedFor: [kind, ...(namespace === '' ? [] : [namespace]), name].join('/'),
    ...(isApplied && same !== undefined ? { lastApplied: recordable(same) } : {}),
  }
}

function objectsOf(map: ObjectMap = {}): readonly KubeObject[] {
  return Object.values(map).flatMap((objects) => Object.values(objects))
}

function childrenOf(response: JsonValue): readonly KubeObject[] {
  if (!isJsonObject(response)) return []
  const list = response['children'] ?? response['attachments'] ?? response['outputs'] ?? []
  return Array.isArray(list)
    ? (list as readonly JsonValue[]).filter(isJsonObject).map((one) => one as unknown as KubeObject)
    : []
}

/** Names a child among those of one parent, with or without its namespace in the response. */
function nameOf({ apiVersion, kind, metadata }: KubeObject): string {
  return `${apiVersion} ${kind} ${metadata?.name ?? ''}`
}

function filled(fields: Readonly<Record<string, object | undefined>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => Object.keys(value ?? {}).length > 0))
}

function answering(response: JsonValue): HookCaller {
  const body: ResponseBody = { value: response, duplicates: [] }
  return { strict: false, call: async () => body }
}

function answeringHooks(
  { spec: { hooks = {} } }: SyncManifest,
  response: JsonValue,
  customized: JsonValue,
): SyncHooks & AsyncDisposable {
  const hook = (name: 'sync' | 'finalize' | 'customize'): SyncHooks['sync'] => {
    const given = hooks[name]
    if (given === undefined) return undefined
    return { caller: answering(name === 'customize' ? customized : response), version: given.version ?? 'v1' }
  }
  const made = { sync: hook('sync'), finalize: hook('finalize'), customize: hook('customize') }
  return { ...made, [Symbol.asyncDispose]: async () => {} }
}

function answeringMapHooks(response: JsonValue): Hooks {
  const hook = answering(response)
  const call = (): Promise<ResponseBody> => hook.call({} as never)
  return { map: { strict: false, call }, tombstone: { strict: false, call }, [Symbol.asyncDispose]: async () => {} }
}
