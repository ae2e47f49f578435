// Decides on one group: reads the cluster, calls the hook that the group needs and plans the writes. The controller
// carries the plan out; `fairlead map render` prints it, and `fairlead map test` compares it.
import type { KubeObject } from '@fairlead/kube'
import type { Cluster } from './cluster.ts'
import { outputManager } from './configuration.ts'
import type { Group, Step } from './group.ts'
import { nextStep } from './group.ts'
import type { HookEvent } from './hook-event.ts'
import type { Hook, HookCall, Hooks } from './hook.ts'
import { formatIdentity, identityOf } from './identity.ts'
import type { ObservedGroup, Plan } from './plan.ts'
import { adopted, planDetached, planGroupInSteps } from './plan.ts'
import type { ObjectsOfKind, RequestFacts } from './request.ts'
import type { ResponseBody, ResponseContext } from './response.ts'
import { readMapResponse, readTombstoneResponse } from './response.ts'
import { hopsOf } from './tag.ts'
import { seenDigest } from './trigger.ts'

/** A warning for the parent, as its event reports it. */
export interface Warning {
  readonly reason: 'HopLimitReached'
  readonly message: string
  /** The object that the warning is about. */
  readonly related: KubeObject
}

/** The decision on a group: one step, and the writes that result from it. */
export interface Decision {
  readonly step: Step
  /** Empty unless the step is `map`, `tombstone` or `delete` and succeeded. */
  readonly plan: Plan
  /** The error of the hook, or of its response. Nothing is planned then: the outputs stay as they are (Q14). */
  readonly error: unknown
  readonly warning: Warning | undefined
  /** Something waits until everything is known; decide again then. */
  readonly isHeld: boolean
  /** The group has neither input nor outputs left. */
  readonly isOver: boolean
  /** Number of outputs that differ from what the hook wants and are left as they are (OnDelete). */
  readonly drift: number
  /** Seconds until the hook wants to be called again. */
  readonly resyncAfterSeconds: number | undefined
  /** Events that the hook asks for, about the parent. */
  readonly events: readonly HookEvent[]
}

/** Time and cancellation of the hook calls that a decision makes. */
export interface CallContext extends Pick<HookCall, 'now' | 'signal' | 'reservation'> {
  /** Called between the steps of a plan for many outputs; plans are made in one step when left out. */
  readonly pause?: () => Promise<void>
}

/** The outcome of a step. */
type Outcome = Pick<Decision, 'plan' | 'resyncAfterSeconds' | 'events'>

/** Decides on a group. Errors of hooks are values in the decision; throws only what the cluster throws. */
export async function decideGroup(cluster: Cluster, hooks: Hooks, group: Group, call: CallContext): Promise<Decision> {
  const pass = new DecisionPass(cluster, hooks, group, call)
  return pass.decide()
}

class DecisionPass {
  readonly #cluster: Cluster
  readonly #hooks: Hooks
  readonly #group: Group
  readonly #call: CallContext

  constructor(cluster: Cluster, hooks: Hooks, group: Group, call: CallContext) {
    this.#cluster = cluster
    this.#hooks = hooks
    this.#group = group
    this.#call = call
  }

  async decide(): Promise<Decision> {
    const { parent, mapKey } = this.#group
    const ref = parent.inputs.get(mapKey)
    const outputs = this.#outputsKnown ? this.#cluster.outputsOf(this.#group) : []
    const orphans = this.#outputsKnown ? this.#cluster.orphansOf(this.#group) : []
    const input = ref === undefined ? undefined : this.#cluster.input(ref.kind, ref.key)
    const isStopped = ref?.role === 'stopped'
    const step = nextStep({
      parent: parent.object,
      input: isStopped ? 'stopped' : input,
      // Without a hook that could keep them, the orphans of a deleted input stay as they are.
      outputs: this.#hooks.tombstone === undefined ? outputs : [...outputs, ...orphans],
      outputsKnown: this.#outputsKnown,
      inputsKnown: this.#inputsKnown,
      hasTombstoneHook: this.#hooks.tombstone !== undefined,
    })
    let outcome: Outcome = { plan: [], resyncAfterSeconds: undefined, events: [] }
    let error: unknown
    try {
      if (step === 'map') outcome = await this.#map(input as KubeObject, ref?.kind ?? 0, outputs, orphans)
      else if (step === 'tombstone' || step === 'delete') outcome = await this.#detach(step, outputs, orphans)
    } catch (failure) {
      error = failure
    }
    const count = (reason: string): number =>
      outcome.plan.filter((action) => action.op === 'keep' && action.reason === reason).length
    return {
      ...outcome,
      step,
      error,
      warning: step === 'stop' && input !== undefined ? hopWarning(input) : undefined,
      isHeld: step === 'wait' || count('Held') > 0,
      isOver:
        step === 'nothing' && input === undefined && !isStopped && this.#cluster.outputsOf(this.#group).length === 0,
      drift: count('Drift'),
    }
  }

  async #map(
    input: KubeObject,
    kind: number,
    outputs: readonly KubeObject[],
    orphans: readonly KubeObject[],
  ): Promise<Outcome> {
    const { controller, kinds } = this.#cluster
    const parent = this.#group.parent.object
    const related = kinds.related.length === 0 ? undefined : this.#cluster.related(parent)
    const seen = seenDigest(controller, parent, input, kinds.inputs[kind]!.spec)
    const response = await this.#request(
      this.#hooks.map,
      { input, related, outputs: this.#byKind(outputs, orphans) },
      readMapResponse,
    )
    const tag = {
      controller: controller.metadata.name ?? '',
      parent: identityOf(parent),
      input: identityOf(input),
      mapKey: this.#group.mapKey,
    }
    const { pause = async () => {} } = this.#call
    const provenance = { tag, parent, hops: hopsOf(input) + 1, seen }
    let view: ObservedGroup
    let plan: Plan
    // A kind may be lost during a pause: then it is planned again, without deletes.
    do {
      view = this.#observedGroup(outputs, orphans)
      plan = await planGroupInSteps(view, response, provenance, pause)
    } while (view.mayDelete && !this.#mayDelete)
    return { plan, resyncAfterSeconds: response.resyncAfterSeconds, events: response.events }
  }

  async #detach(
    step: 'tombstone' | 'delete',
    outputs: readonly KubeObject[],
    orphans: readonly KubeObject[],
  ): Promise<Outcome> {
    const hook = step === 'tombstone' ? this.#hooks.tombstone : undefined
    const response =
      hook === undefined
        ? undefined
        : await this.#request(hook, { outputs: this.#byKind(outputs, orphans) }, readTombstoneResponse)
    return {
      plan: planDetached(this.#observedGroup(outputs, orphans), response),
      resyncAfterSeconds: response?.resyncAfterSeconds,
      events: response?.events ?? [],
    }
  }

  async #request<T>(
    hook: Hook,
    facts: Pick<RequestFacts, 'input' | 'outputs' | 'related'>,
    read: (body: ResponseBody, context: ResponseContext) => T,
  ): Promise<T> {
    const { controller, kinds } = this.#cluster
    const { parent, mapKey } = this.#group
    const body = await hook.call({
      facts: { controller, parent: parent.object, mapKey, ...facts },
      group: `${parent.uid}/${mapKey}`,
      now: this.#call.now,
      signal: this.#call.signal,
      reservation: this.#call.reservation,
    })
    return read(body, { parent: parent.object, kinds: kinds.outputs, strict: hook.strict })
  }

  /** The group as it is planned against. Knowledge is read again: a kind may have been lost during the call. */
  #observedGroup(observed: readonly KubeObject[], orphans: readonly KubeObject[]): ObservedGroup {
    const name = this.#cluster.controller.metadata.name ?? ''
    return {
      controllerName: name,
      manager: outputManager(name, this.#group.parent.object),
      parent: this.#group.parent.object,
      observed,
      orphans,
      find: (kind, identity) => this.#cluster.output(kind, identity),
      mayDelete: this.#mayDelete,
      isReleased: ({ apiVersion, kind }) =>
        this.#cluster.kinds.outputs.find((one) => one.kind === kind && one.apiVersion === apiVersion)
          ?.deletionPolicy === 'Orphan',
    }
  }

  /** Hooks are sent orphans as the outputs that they become when the response wants them (Q8). */
  #byKind(outputs: readonly KubeObject[], orphans: readonly KubeObject[]): readonly ObjectsOfKind[] {
    const observed = [...outputs, ...orphans.map((orphan) => adopted(orphan, this.#group.parent.object))]
    return this.#cluster.kinds.outputs.map((kind) => ({
      kind,
      objects: observed.filter((object) => object.kind === kind.kind && object.apiVersion === kind.apiVersion),
    }))
  }

  get #mayDelete(): boolean {
    return this.#outputsKnown && this.#inputsKnown
  }

  get #outputsKnown(): boolean {
    return this.#cluster.outputsKnown && this.#cluster.relatedKnown
  }

  get #inputsKnown(): boolean {
    return this.#cluster.inputsKnown && this.#group.parent.selector.valid
  }
}

function hopWarning(input: KubeObject): Warning {
  const message = `${formatIdentity(identityOf(input))} was made by ${hopsOf(input)} maps in a row and is not mapped any further; check whether two parents select each other's outputs`
  return { reason: 'HopLimitReached', message, related: input }
}
