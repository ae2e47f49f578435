// One turn of one group: look, ask, plan, write.
import { RemoteError } from '@fairlead/controller'
import type { ObjectEvents, WorkContext } from '@fairlead/controller'
import { isTerminating } from '@fairlead/kube'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { AnswerError, readMapAnswer, readTombstoneAnswer } from '../engine/response.ts'
import type { AnswerContext } from '../engine/response.ts'
import { fieldManager } from '../engine/configuration.ts'
import { nextStep } from '../engine/group.ts'
import type { Identity } from '../engine/identity.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { OutputBook } from '../engine/output-index.ts'
import type { GroupView, Plan } from '../engine/plan.ts'
import { planDetached, planGroup } from '../engine/plan.ts'
import type { RequestFacts } from '../engine/request.ts'
import type { OutputKind } from '../engine/resource.ts'
import type { SelectedParent } from '../engine/selection.ts'
import { hopsOf } from '../engine/tag.ts'
import { seenDigest } from '../engine/trigger.ts'
import type { Caches } from './caches.ts'
import type { Hook, Hooks } from '../engine/hook.ts'
import type { ControllerKinds } from './kinds.ts'
import { relatedObjects } from '../engine/related.ts'
import { adopt, carryOut } from './writer.ts'
import type { WriteContext } from './writer.ts'

/** What a turn reads; nothing of it is changed here. */
export interface TurnWorld {
  readonly name: string
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly caches: Caches
  readonly book: OutputBook
  /** Told of every write of an output: as it was, and as it stands now. */
  wrote(op: string, before: KubeObject | undefined, now: KubeObject | undefined): void
  eventsOf(parent: KubeObject): ObjectEvents
}

/** What came of a turn. */
export interface TurnOutcome {
  /** Something waits until everything is known; the group must be asked again then. */
  readonly held: boolean
  /** Nothing is left of the group. */
  readonly over: boolean
  /** Outputs that differ from what the hook wants and are left so (OnDelete). */
  readonly drift: number
  readonly resyncAfterSeconds: number | undefined
}

const nothing: TurnOutcome = { held: false, over: false, drift: 0, resyncAfterSeconds: undefined }

/**
 * Takes the turn of a group. Throws RemoteError for what a hook does wrong, HookBusyError when it asks for patience, WriteError and StatusError
 * for writes that failed.
 */
export async function takeTurn(
  hooks: Hooks,
  world: TurnWorld,
  parent: SelectedParent,
  mapKey: string,
  context: WorkContext,
): Promise<TurnOutcome> {
  return new Turn(hooks, world, parent, mapKey, context).take()
}

class Turn {
  readonly #hooks: Hooks
  readonly #world: TurnWorld
  readonly #parent: SelectedParent
  readonly #mapKey: string
  readonly #context: WorkContext
  readonly #writes: WriteContext

  constructor(hooks: Hooks, world: TurnWorld, parent: SelectedParent, mapKey: string, context: WorkContext) {
    this.#hooks = hooks
    this.#world = world
    this.#parent = parent
    this.#mapKey = mapKey
    this.#context = context
    this.#writes = {
      client: context.client,
      controllerName: world.name,
      parent: parent.object,
      mapKey,
      wrote: (op, object, before) => world.wrote(op, before, object),
    }
  }

  async take(): Promise<TurnOutcome> {
    const { caches, book } = this.#world
    const observed = this.#outputsKnown ? await this.#adopted() : []
    const ref = this.#parent.inputs.get(this.#mapKey)
    const input =
      ref === undefined ? undefined : ref.role === 'stopped' ? 'stopped' : caches.inputs[ref.kind]?.get(ref.key)
    const step = nextStep({
      parent: this.#parent.object,
      input,
      outputs: observed,
      outputsKnown: this.#outputsKnown,
      inputsKnown: this.#inputsKnown,
      hasTombstoneHook: this.#hooks.tombstone !== undefined,
    })
    switch (step) {
      case 'map':
        return this.#map(input as KubeObject, ref?.kind ?? 0, observed)
      case 'tombstone':
        return this.#detached(observed, this.#hooks.tombstone)
      case 'delete':
        return this.#detached(observed, undefined)
      case 'wait':
        return { ...nothing, held: true }
      case 'stop':
        this.#warnOfHops(caches.inputs[ref?.kind ?? 0]?.get(ref?.key ?? ''))
        return nothing
      case 'nothing':
        return { ...nothing, over: input === undefined && book.outputsOf(this.#parent.uid, this.#mapKey).length === 0 }
    }
  }

  async #map(input: KubeObject, kind: number, observed: readonly KubeObject[]): Promise<TurnOutcome> {
    const { controller, kinds, caches, name } = this.#world
    const parent = this.#parent.object
    const related = kinds.related.length === 0 ? undefined : relatedObjects(kinds.related, caches, parent)
    const seen = seenDigest(controller, parent, input, kinds.inputs[kind]!.spec)
    const answer = await this.#ask(this.#hooks.map, { input, related, outputs: this.#byKind(observed) }, readMapAnswer)
    const identity = identityOf(input)
    const tag = { controller: name, parent: identityOf(parent), input: identity, mapKey: this.#mapKey }
    const plan = planGroup(this.#view(observed), answer, { tag, parent, hops: hopsOf(input) + 1, seen })
    return this.#carryOut(plan, answer.resyncAfterSeconds)
  }

  async #detached(observed: readonly KubeObject[], hook: Hook | undefined): Promise<TurnOutcome> {
    const answer =
      hook === undefined ? undefined : await this.#ask(hook, { outputs: this.#byKind(observed) }, readTombstoneAnswer)
    return this.#carryOut(planDetached(this.#view(observed), answer), answer?.resyncAfterSeconds)
  }

  async #ask<T>(
    hook: Hook,
    facts: Pick<RequestFacts, 'input' | 'outputs' | 'related'>,
    read: (body: Awaited<ReturnType<Hook['call']>>, context: AnswerContext) => T,
  ): Promise<T> {
    const { controller, kinds } = this.#world
    const parent = this.#parent.object
    const body = await hook.call({
      facts: { controller, parent, mapKey: this.#mapKey, ...facts },
      group: `${this.#parent.uid}/${this.#mapKey}`,
      now: this.#context.clock.now(),
      signal: this.#context.signal,
    })
    try {
      return read(body, { parent, kinds: kinds.outputs, strict: hook.strict })
    } catch (error) {
      // A wrong answer is the server's fault, and may be right the next time it is asked.
      if (error instanceof AnswerError) throw new RemoteError(error.code, error.message, { cause: error })
      throw error
    }
  }

  async #carryOut(plan: Plan, resyncAfterSeconds: number | undefined): Promise<TurnOutcome> {
    await carryOut(plan, this.#writes)
    const count = (reason: string): number =>
      plan.filter((action) => action.op === 'keep' && action.reason === reason).length
    return { held: count('Held') > 0, over: false, drift: count('Drift'), resyncAfterSeconds }
  }

  /** The outputs of the group, orphans that name this parent taken back first (Q8). */
  async #adopted(): Promise<readonly KubeObject[]> {
    const { book } = this.#world
    const observed = book.outputsOf(this.#parent.uid, this.#mapKey)
    const orphans = isTerminating(this.#parent.object) ? [] : book.orphansOf(this.#parent.identity, this.#mapKey)
    if (orphans.length === 0) return observed
    const adopted = await Promise.all(orphans.map((orphan) => adopt(orphan, this.#writes)))
    return [...observed, ...adopted.filter((object) => object !== undefined)]
  }

  #view(observed: readonly KubeObject[]): GroupView {
    const { name, caches, kinds } = this.#world
    return {
      controllerName: name,
      manager: fieldManager(name),
      parent: this.#parent.object,
      observed,
      find: (kind: OutputKind, { namespace, name: named }: Identity) =>
        caches.outputs[kinds.outputs.indexOf(kind)]?.get({ namespace, name: named } satisfies ObjectKey),
      mayDelete: this.#outputsKnown && this.#inputsKnown,
    }
  }

  #byKind(observed: readonly KubeObject[]): RequestFacts['outputs'] {
    return this.#world.kinds.outputs.map((kind) => ({
      kind,
      objects: observed.filter((object) => object.kind === kind.kind && object.apiVersion === kind.apiVersion),
    }))
  }

  get #outputsKnown(): boolean {
    return this.#world.caches.outputsKnown && this.#world.caches.relatedKnown
  }

  get #inputsKnown(): boolean {
    return this.#world.caches.inputsKnown && this.#parent.selector.valid
  }

  #warnOfHops(input: KubeObject | undefined): void {
    if (input === undefined) return
    const note = `${formatIdentity(identityOf(input))} was made by ${hopsOf(input)} maps in a row and is not mapped any further; check whether two parents select each other's outputs`
    this.#world.eventsOf(this.#parent.object).warning('HopLimitReached', note, { action: 'Sync', related: input })
  }
}
