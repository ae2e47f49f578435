// Plays cases with the engine alone: renders the controller over the state of a case and applies the plans to it. Start
// with playCase.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { KindCatalog } from '@fairlead/offline'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import type { Hook, HookName, Hooks } from '../engine/hook.ts'
import { HookBusyError } from '../engine/hook.ts'
import type { Identity } from '../engine/identity.ts'
import { identityOf } from '../engine/identity.ts'
import { resolveKinds } from '../engine/kinds.ts'
import { mapKeyOf } from '../engine/map-key.ts'
import { hookRequest } from '../engine/request.ts'
import type { CaseWrite } from './case-state.ts'
import { CaseState } from './case-state.ts'
import type { CaseResponse, MapCase, MapCaseInput } from './map-case.ts'
import { hasNamedHooks } from './map-case.ts'
import type { RenderedGroup } from './rendering.ts'
import { renderController } from './rendering.ts'

/** The result of a case. */
export interface CaseOutcome {
  readonly mapCalled: readonly string[]
  readonly tombstoneCalled: readonly string[]
  readonly mapCalls: number
  /** The first request of each hook for each input. */
  readonly requests: Readonly<Record<HookName, Readonly<Record<string, JsonObject>>>>
  readonly writes: readonly CaseWrite[]
  readonly status: JsonObject
  /** Messages of warnings. */
  readonly warnings: readonly string[]
}

/** Options of {@link playCase}. */
export interface PlayOptions {
  /** Definitions of the kinds of the case. */
  readonly definitions: readonly KubeObject[]
  /** Makes the hooks of a controller that has hooks of its own. */
  readonly hooksFor: (controller: MapController) => Hooks
  readonly signal: AbortSignal
}

/** Plays a case. Throws UnknownKindError, and what `hooksFor` throws. */
export async function playCase({ input }: MapCase, options: PlayOptions): Promise<CaseOutcome> {
  const { definitions, hooksFor, signal } = options
  const { parent, inputs = [], outputs = [], related = [], unlistable } = input
  const controller = controllerOfCase(input)
  const catalog = new KindCatalog([...definitions, parent, ...inputs, ...outputs.map(({ object }) => object)])
  const state = new CaseState(input, await resolveKinds(controller.spec, (name) => catalog.byResource(name)))
  const calls = new CallRecord(inputs.map(identityOf))
  for (const { taggedFor } of outputs) if (taggedFor !== null) calls.addInput(state.inputIdentity(taggedFor))
  await using hooks = hasNamedHooks(input.controller.spec)
    ? scriptedHooks(input, calls)
    : recordedHooks(hooksFor(controller), calls)
  const keys = triggeredKeys(input, (ref) => mapKeyOf(state.inputIdentity(ref)))
  const [rendered] = await renderController({
    controller,
    objects: [...definitions, parent, ...inputs, ...state.outputs, ...related],
    catalog,
    hooks,
    now: 0,
    signal,
    selects: (mapKey) => keys === undefined || keys.has(mapKey),
    unlistable: new Set(unlistable),
  })
  const groups = rendered?.groups ?? []
  const writes = groups.flatMap(({ plan }) => plan.flatMap((action) => state.carryOut(action)))
  const problem = rendered?.problem
  return {
    mapCalled: calls.refsOf('map'),
    tombstoneCalled: calls.refsOf('tombstone'),
    mapCalls: calls.count('map') * roundsOf(input),
    requests: { map: calls.firstRequests('map'), tombstone: calls.firstRequests('tombstone') },
    writes,
    status: state.parentStatus(rendered?.inputTotals ?? []),
    warnings: [...(problem === undefined ? [] : [problem]), ...groups.flatMap(warningsOf)],
  }
}

/** Records the requests of hooks, by the reference of the input. */
class CallRecord {
  readonly #calls: { readonly hook: HookName; readonly ref: string; readonly request: JsonObject }[] = []
  readonly #refs = new Map<string, string>()

  constructor(inputs: readonly Identity[]) {
    for (const input of inputs) this.addInput(input)
  }

  addInput(input: Identity): void {
    const { kind, namespace, name } = input
    this.#refs.set(mapKeyOf(input), [kind, ...(namespace === '' ? [] : [namespace]), name].join('/'))
  }

  /** Records a request. Returns the reference of its input. */
  add(hook: HookName, request: JsonObject): string {
    const mapKey = String(request.mapKey)
    const ref = this.#refs.get(mapKey) ?? mapKey
    this.#calls.push({ hook, ref, request })
    return ref
  }

  count(hook: HookName): number {
    return this.#calls.filter((call) => call.hook === hook).length
  }

  refsOf(hook: HookName): string[] {
    return [...new Set(this.#calls.filter((call) => call.hook === hook).map(({ ref }) => ref))]
  }

  firstRequests(hook: HookName): Record<string, JsonObject> {
    const first: Record<string, JsonObject> = {}
    for (const call of this.#calls) if (call.hook === hook) first[call.ref] ??= call.request
    return first
  }
}

function controllerOfCase({ controller: { name, spec } }: MapCaseInput): MapController {
  const hooks = hasNamedHooks(spec)
    ? Object.fromEntries(spec.hooks.map((hook) => [hook, { version: 'v1', trim: 'managedFields' }]))
    : spec.hooks
  return { apiVersion, kind: 'MapController', metadata: { name }, spec: { ...spec, hooks } } as MapController
}

/** Returns the map keys of the groups that the trigger enqueues; undefined for all. */
function triggeredKeys(
  { trigger, controller }: MapCaseInput,
  keyOf: (ref: string) => string,
): ReadonlySet<string> | undefined {
  switch (trigger.type) {
    case 'input-added':
    case 'input-updated':
    case 'input-deleted':
      return new Set([keyOf(trigger.ref)])
    case 'output-deleted':
      return new Set([keyOf(trigger.wasTaggedFor)])
    case 'parent-status-updated':
      return new Set()
    case 'clock-advance': {
      const period = controller.spec.resyncPeriodSeconds
      return period !== undefined && period <= trigger.seconds ? undefined : new Set()
    }
    case 'full-sync':
    case 'parent-spec-updated':
      return undefined
  }
}

/** Returns how often each group is reconciled. */
function roundsOf({ trigger, controller }: MapCaseInput): number {
  const period = controller.spec.resyncPeriodSeconds
  return trigger.type === 'clock-advance' && period !== undefined ? Math.floor(trigger.seconds / period) : 1
}

/** Returns hooks that respond as the case says. */
function scriptedHooks({ controller, hooks = {} }: MapCaseInput, calls: CallRecord): Hooks {
  const names = hasNamedHooks(controller.spec) ? controller.spec.hooks : []
  const hook = (name: HookName): Hook => ({
    strict: false,
    call: async ({ facts }) => {
      const ref = calls.add(name, hookRequest({ ...facts, version: 'v1', trim: 'managedFields' }))
      const response: CaseResponse | undefined = hooks[name]?.[ref] ?? hooks[`${name}Default`]
      if (response === undefined) throw new Error(`The case has no response of the ${name} hook for ${ref}`)
      if (response.error !== undefined) throw failureOf(name, response.error)
      return { value: response.rawBody ?? { outputs: response.outputs ?? null }, duplicates: [] }
    },
  })
  return {
    map: hook('map'),
    tombstone: names.includes('tombstone') ? hook('tombstone') : undefined,
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Returns hooks that record their calls. */
function recordedHooks(hooks: Hooks, calls: CallRecord): Hooks {
  const recorded = (name: HookName, hook: Hook): Hook => ({
    strict: hook.strict,
    call: (call) => {
      calls.add(name, hookRequest({ ...call.facts, version: 'v1', trim: 'managedFields' }))
      return hook.call(call)
    },
  })
  return {
    map: recorded('map', hooks.map),
    tombstone: hooks.tombstone && recorded('tombstone', hooks.tombstone),
    [Symbol.asyncDispose]: () => hooks[Symbol.asyncDispose](),
  }
}

function warningsOf({ input, error, warning, plan }: RenderedGroup): string[] {
  const messages = [
    ...(error === undefined || error instanceof HookBusyError ? [] : [errorMessage(error)]),
    ...plan.flatMap((action) => (action.op === 'refuse' ? [action.message] : [])),
    ...(warning === undefined ? [] : [warning.message]),
  ]
  return messages.map((message) => `${input}: ${message}`)
}

function failureOf(hook: HookName, { status, headers = {} }: NonNullable<CaseResponse['error']>): Error {
  const after = Number(headers['Retry-After'])
  return status === 429 && after >= 0
    ? new HookBusyError(after * 1000)
    : new Error(`The ${hook} hook responded with ${status}`)
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
