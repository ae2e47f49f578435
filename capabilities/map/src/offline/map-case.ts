// Cases for hooks, in the form of Fairlead's own case files: a state, what happens, and what should come of it. Played with the engine alone.
import {
  applyServerSide,
  asJson,
  asObject,
  controllerOf,
  jsonEqual,
  ownerReferenceTo,
  parseKey,
  trackUpdate,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { configurationOf, fieldManager } from '../engine/configuration.ts'
import type { Identity } from '../engine/identity.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { mapKeyOf } from '../engine/map-key.ts'
import { OutputBook } from '../engine/output-index.ts'
import type { Action } from '../engine/plan.ts'
import { hookRequest } from '../engine/request.ts'
import { parentStatus } from '../engine/status.ts'
import { tagAnnotations, tagLabels } from '../engine/tag.ts'
import { HookBusyError } from '../engine/hook.ts'
import type { Hook, Hooks } from '../engine/hook.ts'
import type { ControllerKinds } from '../runtime/kinds.ts'
import { Catalog } from './catalog.ts'
import { rehearse } from './rendering.ts'
import type { Rehearsed } from './rendering.ts'

/** A case: `input` and `want` as cases/README.md of Fairlead's case files describes the area `map`. */
export interface MapCase {
  readonly id: string
  readonly title?: string
  readonly input: {
    readonly trigger: {
      readonly type: string
      readonly ref?: string
      readonly wasTaggedFor?: string
      readonly seconds?: number
    }
    readonly controller: {
      readonly name: string
      readonly spec:
        | MapController['spec']
        | (Omit<MapController['spec'], 'hooks'> & { readonly hooks: readonly string[] })
    }
    readonly parent: KubeObject
    readonly inputs?: readonly KubeObject[]
    readonly outputs?: readonly CaseOutput[]
    readonly hooks?: Readonly<Record<string, Readonly<Record<string, CaseAnswer>> | CaseAnswer>>
    readonly unlistable?: readonly string[]
  }
  readonly want: Readonly<Record<string, unknown>>
}

interface CaseOutput {
  readonly object: KubeObject
  readonly owner: string | null
  readonly taggedFor: string | null
  readonly taggedBy?: string
  readonly lastApplied?: KubeObject
}

interface CaseAnswer {
  readonly outputs?: JsonValue
  readonly rawBody?: JsonValue
  readonly error?: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
}

/** What came of a case. */
export interface CaseOutcome {
  readonly mapCalled: readonly string[]
  readonly tombstoneCalled: readonly string[]
  readonly mapCalls: number
  readonly requests: Readonly<Record<'map' | 'tombstone', Readonly<Record<string, JsonObject>>>>
  readonly writes: readonly {
    readonly op: string
    readonly ref: string
    readonly object: KubeObject
    readonly uid: string | undefined
  }[]
  readonly status: JsonObject
  /** Messages of warnings. */
  readonly warnings: readonly string[]
}

/** Plays a case. `objects` may add definitions; `hooksFor` makes the hooks of a controller that names real ones. */
export async function playCase(
  of: MapCase,
  objects: readonly KubeObject[],
  hooksFor: (controller: MapController) => Hooks,
  signal: AbortSignal,
): Promise<CaseOutcome> {
  const { input } = of
  const player = new CasePlayer(
    of,
    new Catalog([
      ...objects,
      input.parent,
      ...(input.inputs ?? []),
      ...(input.outputs ?? []).map(({ object }) => object),
    ]),
  )
  return player.play(objects, hooksFor, signal)
}

class CasePlayer {
  readonly #case: MapCase
  readonly #controller: MapController
  readonly #kinds: ControllerKinds
  readonly #calls: { readonly hook: 'map' | 'tombstone'; readonly ref: string; readonly request: JsonObject }[] = []
  readonly #refs = new Map<string, string>()

  constructor(of: MapCase, catalog: Catalog) {
    const { name, spec } = of.input.controller
    const hooks = Array.isArray(spec.hooks)
      ? Object.fromEntries(
          (spec.hooks as readonly string[]).map((hook) => [hook, { version: 'v1', trim: 'managedFields' }]),
        )
      : spec.hooks
    this.#case = of
    this.#controller = {
      apiVersion: 'metacontroller.k8s.io/v1alpha1',
      kind: 'MapController',
      metadata: { name },
      spec: { ...spec, hooks },
    } as unknown as MapController
    this.#kinds = catalog.kinds(this.#controller.spec)
  }

  async play(
    objects: readonly KubeObject[],
    hooksFor: (controller: MapController) => Hooks,
    signal: AbortSignal,
  ): Promise<CaseOutcome> {
    const { parent, inputs = [], outputs = [], controller } = this.#case.input
    for (const object of inputs) this.#remember(identityOf(object))
    const stored = outputs.map((output) => this.#stored(output))
    await using hooks = Array.isArray(controller.spec.hooks)
      ? this.#scripted()
      : this.#recorded(hooksFor(this.#controller))
    const asked = this.#askedRefs()
    const [rehearsed] = await rehearse({
      controller: this.#controller,
      objects: [...objects, parent, ...inputs, ...stored],
      hooks,
      now: 0,
      signal,
      asks: (mapKey) => asked === undefined || asked.has(mapKey),
      unlistable: new Set(this.#case.input.unlistable),
    })
    const groups = rehearsed?.groups ?? []
    const after = new Map(stored.map((object) => [formatIdentity(identityOf(object)), object]))
    const writes = groups.flatMap((group) => [
      ...group.adopted.map((orphan) => this.#adopt(orphan, after)),
      ...group.plan.flatMap((action) => this.#carryOut(action, after)),
    ])
    const problem = rehearsed?.problem
    const refsOf = (hook: string): string[] => [
      ...new Set(this.#calls.filter((call) => call.hook === hook).map(({ ref }) => ref)),
    ]
    return {
      mapCalled: refsOf('map'),
      tombstoneCalled: refsOf('tombstone'),
      mapCalls: this.#calls.filter(({ hook }) => hook === 'map').length * this.#rounds(),
      requests: { map: this.#firstRequests('map'), tombstone: this.#firstRequests('tombstone') },
      writes,
      status: this.#statusOf(parent, [...after.values()], rehearsed?.inputTotals ?? []),
      warnings: [...(problem === undefined ? [] : [problem]), ...groups.flatMap(warningsOf)],
    }
  }

  /** Map keys that the trigger asks; undefined for all. */
  #askedRefs(): ReadonlySet<string> | undefined {
    const { trigger } = this.#case.input
    const keyOf = (ref: string): string => mapKeyOf(this.#identity(ref))
    switch (trigger.type) {
      case 'input-added':
      case 'input-updated':
      case 'input-deleted':
        return new Set([keyOf(trigger.ref ?? '')])
      case 'output-deleted':
        return new Set([keyOf(trigger.wasTaggedFor ?? '')])
      case 'parent-status-updated':
        return new Set()
      case 'clock-advance': {
        const period = this.#controller.spec.resyncPeriodSeconds
        return period !== undefined && period <= (trigger.seconds ?? 0) ? undefined : new Set()
      }
      default:
        return undefined
    }
  }

  /** How often each group is asked. */
  #rounds(): number {
    const { trigger } = this.#case.input
    const period = this.#controller.spec.resyncPeriodSeconds
    return trigger.type === 'clock-advance' && period !== undefined ? Math.floor((trigger.seconds ?? 0) / period) : 1
  }

  /** Hooks that answer what the case says. */
  #scripted(): Hooks {
    const names = this.#case.input.controller.spec.hooks as readonly string[]
    const hook = (name: 'map' | 'tombstone'): Hook => ({
      strict: false,
      call: ({ facts }) => {
        const { hooks = {} } = this.#case.input
        const ref = this.#record(name, hookRequest({ ...facts, version: 'v1', trim: 'managedFields' }))
        const answer = ((hooks[name] as Record<string, CaseAnswer> | undefined)?.[ref] ?? hooks[`${name}Default`]) as
          | CaseAnswer
          | undefined
        if (answer === undefined)
          return Promise.reject(new Error(`The case has no answer of the ${name} hook for ${ref}`))
        if (answer.error !== undefined) return Promise.reject(failureOf(name, answer.error))
        return Promise.resolve({ value: answer.rawBody ?? { outputs: answer.outputs ?? null }, duplicates: [] })
      },
    })
    return {
      map: hook('map'),
      tombstone: names.includes('tombstone') ? hook('tombstone') : undefined,
      [Symbol.asyncDispose]: async () => {},
    }
  }

  /** Real hooks, their calls noted. */
  #recorded(hooks: Hooks): Hooks {
    const noted = (name: 'map' | 'tombstone', hook: Hook): Hook => ({
      strict: hook.strict,
      call: (call) => {
        this.#record(name, hookRequest({ ...call.facts, version: 'v1', trim: 'managedFields' }))
        return hook.call(call)
      },
    })
    return {
      ...hooks,
      map: noted('map', hooks.map),
      tombstone: hooks.tombstone && noted('tombstone', hooks.tombstone),
      [Symbol.asyncDispose]: () => hooks[Symbol.asyncDispose](),
    }
  }

  #record(hook: 'map' | 'tombstone', request: JsonObject): string {
    const mapKey = String(request.mapKey)
    const ref = this.#refs.get(mapKey) ?? mapKey
    this.#calls.push({ hook, ref, request })
    return ref
  }

  #firstRequests(hook: string): Record<string, JsonObject> {
    const first: Record<string, JsonObject> = {}
    for (const call of this.#calls) if (call.hook === hook) first[call.ref] ??= call.request
    return first
  }

  /** An output with the metadata that its owner and tag stand for; what was applied last knows its fields. */
  #stored({ object, owner, taggedFor, taggedBy, lastApplied }: CaseOutput): KubeObject {
    const { controller, parent } = this.#case.input
    const reference =
      owner === null
        ? []
        : [{ ...ownerReferenceTo(parent), uid: owner === 'parent' ? (parent.metadata.uid ?? '') : owner }]
    if (taggedFor === null) return withMetadata(object, { ownerReferences: reference })
    const input = this.#identity(taggedFor)
    this.#remember(input)
    const tag = { controller: taggedBy ?? controller.name, parent: identityOf(parent), input, mapKey: mapKeyOf(input) }
    const kind = this.#kinds.outputs.find((one) => one.kind === object.kind)!
    const { object: configuration } = configurationOf(
      { identity: identityOf(object), kind, object: lastApplied ?? object },
      { tag, parent, hops: 1, seen: '' },
    )
    const applied = applyServerSide({
      live: undefined,
      applied: configuration,
      schemaFor: () => undefined,
      manager: fieldManager(controller.name),
      force: true,
      now: '2026-01-01T00:00:00Z',
    })
    const { labels, annotations } = object.metadata
    return withMetadata(object, {
      labels: { ...labels, ...tagLabels(tag) },
      annotations: { ...annotations, ...tagAnnotations(tag, 1), ...configuration.metadata.annotations },
      ownerReferences: reference,
      managedFields: touched(applied, object).metadata.managedFields,
    })
  }

  #adopt(orphan: KubeObject, after: Map<string, KubeObject>): CaseOutcome['writes'][number] {
    const { parent } = this.#case.input
    const object = withMetadata(orphan, {
      ownerReferences: [...(orphan.metadata.ownerReferences ?? []), ownerReferenceTo(parent)],
    })
    after.set(formatIdentity(identityOf(object)), object)
    return { op: 'update', ref: refOf(object), object, uid: undefined }
  }

  /** The writes of an action, and their effect on the state. */
  #carryOut(action: Action, after: Map<string, KubeObject>): CaseOutcome['writes'][number][] {
    const put = (op: string, configuration: KubeObject): CaseOutcome['writes'][number] => {
      const name = formatIdentity(identityOf(configuration))
      const object = applyServerSide({
        live: after.get(name),
        applied: configuration,
        schemaFor: () => undefined,
        manager: fieldManager(this.#controller.metadata.name ?? ''),
        force: true,
        now: '2026-01-01T00:00:00Z',
      })
      after.set(name, object)
      return { op, ref: refOf(object), object, uid: undefined }
    }
    if (action.op === 'create' || action.op === 'update') return [put(action.op, action.configuration.object)]
    if (action.op !== 'delete') return []
    const { observed, next } = action
    const deleted = { op: 'delete', ref: refOf(observed), object: observed, uid: observed.metadata.uid }
    const isHeld = (observed.metadata.finalizers ?? []).length > 0
    if (!isHeld) after.delete(formatIdentity(identityOf(observed)))
    return next === undefined || isHeld ? [deleted] : [deleted, put('create', next.configuration.object)]
  }

  #statusOf(
    parent: KubeObject,
    outputs: readonly KubeObject[],
    inputTotals: readonly (number | undefined)[],
  ): JsonObject {
    const { inputs: inputKinds, outputs: outputKinds } = this.#kinds
    const book = new OutputBook(this.#controller.metadata.name ?? '', outputKinds.length)
    for (const [index, kind] of outputKinds.entries()) {
      for (const object of outputs)
        if (object.kind === kind.kind) book.set(index, formatIdentity(identityOf(object)), object)
    }
    return parentStatus({
      generation: parent.metadata.generation,
      inputKinds,
      inputTotals,
      outputKinds,
      outputs: book.tallyOf(parent.metadata.uid ?? ''),
    })
  }

  #identity(ref: string): Identity {
    const [kind = '', ...rest] = ref.split('/')
    const group = this.#kinds.inputs.find((one) => one.kind === kind)?.group ?? ''
    return { group, kind, ...parseKey(rest.join('/')) }
  }

  #remember(input: Identity): void {
    this.#refs.set(
      mapKeyOf(input),
      [input.kind, ...(input.namespace === '' ? [] : [input.namespace]), input.name].join('/'),
    )
  }
}

function warningsOf({ input, step, error, plan }: Rehearsed): string[] {
  const texts = [
    ...(error === undefined || error instanceof HookBusyError ? [] : [error.message]),
    ...plan.flatMap((action) => (action.op === 'refuse' ? [action.message] : [])),
  ]
  return [...texts, ...(step === 'stop' ? ['the chain of maps is too long'] : [])].map((text) => `${input}: ${text}`)
}

function failureOf(hook: string, { status, headers = {} }: NonNullable<CaseAnswer['error']>): Error {
  const after = Number(headers['Retry-After'])
  return status === 429 && after >= 0
    ? new HookBusyError(after * 1000)
    : new Error(`The ${hook} hook answered ${status}`)
}

/** What differs from the last apply is somebody else's change, and the fields are theirs. */
function touched(applied: KubeObject, given: KubeObject): KubeObject {
  const { metadata: _given, ...content } = asJson(given)
  const { metadata, ...before } = asJson(applied)
  if (jsonEqual(content, before)) return applied
  const updated = asObject({ ...content, metadata: metadata ?? {} })
  return trackUpdate({
    live: applied,
    updated,
    schemaFor: () => undefined,
    manager: 'others',
    now: '2026-01-01T00:00:00Z',
  })
}

function withMetadata(object: KubeObject, metadata: KubeObject['metadata']): KubeObject {
  return asObject({ ...asJson(object), metadata: { ...asJson(object.metadata), ...asJson(metadata) } })
}

function refOf(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata
  return namespace === undefined ? `${object.kind}/${name}` : `${object.kind}/${namespace}/${name}`
}

/** The uid of an object's controller. */
export function ownerOf(object: KubeObject): string | undefined {
  return controllerOf(object)?.uid
}
