// Writes the status of parents: only the fields that are ours, only when they changed, at most once a second for each parent (Q15).
import type { Client } from '@fairlead/client'
import type { Logger } from '@fairlead/controller'
import { asJson, isConflict, isForbidden, isNotFound, isTerminating, jsonEqual } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { groupResource } from '../engine/resource.ts'
import type { Tally } from '../engine/status.ts'
import { parentStatus } from '../engine/status.ts'
import type { ControllerKinds } from './kinds.ts'

/** What a parent's status is made of now. */
export interface ParentFacts {
  readonly parent: KubeObject
  /** Undefined for kinds whose number is not known. */
  readonly inputTotals: readonly (number | undefined)[]
  readonly outputs: Tally
}

/** What {@link ParentStatus} works with. */
export interface ParentStatusOptions {
  /** Applies with the controller's field manager, by force. */
  readonly client: Client
  readonly clock: Clock
  readonly kinds: ControllerKinds
  readonly log: Logger
  /** The facts of a parent; undefined when it is gone or too little is known. */
  readonly stateOf: (uid: string) => ParentFacts | undefined
  /** The status of the parent is ours to write, where replicas share the work. */
  readonly isOurs: (parent: KubeObject) => boolean
  /** {@link ParentStatus.problem} is another one now. */
  readonly changed: () => void
}

/** Milliseconds between two writes of one parent's status. */
const pause = 1000
/** Milliseconds that a first change waits for others that come with it. */
const gather = 20
/** Milliseconds until a write that failed is tried again. */
const retry = 5000

interface Pending {
  /** When it was written last, in milliseconds of the clock. */
  last: number
  /** What was written last; undefined before the first write. */
  written: JsonObject | undefined
  timer: Disposable | undefined
  writing: boolean
  again: boolean
}

/** Keeps the status of the parents of one controller. */
export class ParentStatus {
  readonly #options: ParentStatusOptions
  readonly #pending = new Map<string, Pending>()
  readonly #writes = new Set<Promise<void>>()
  #problem: string | undefined
  /** The parent's kind cannot hold our status: it is not tried again. */
  #given = false
  #stopped = false

  constructor(options: ParentStatusOptions) {
    this.#options = options
  }

  /** Why status cannot be written, if it cannot. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** The counts of a parent may have moved. */
  dirty(uid: string): void {
    if (this.#stopped || this.#given) return
    const pending = this.#pending.get(uid) ?? {
      last: -Infinity,
      written: undefined,
      timer: undefined,
      writing: false,
      again: false,
    }
    this.#pending.set(uid, pending)
    if (pending.writing) pending.again = true
    else if (pending.timer === undefined)
      this.#schedule(uid, pending, Math.max(gather, pending.last + pause - this.#options.clock.now()))
  }

  /** A parent is gone. */
  forget(uid: string): void {
    this.#pending.get(uid)?.timer?.[Symbol.dispose]()
    this.#pending.delete(uid)
  }

  /** Writes nothing any more; resolves when the last write has ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const uid of this.#pending.keys()) this.forget(uid)
    await Promise.all(this.#writes)
  }

  #schedule(uid: string, pending: Pending, wait: number): void {
    pending.timer = this.#options.clock.timer(wait, () => {
      pending.timer = undefined
      const write = this.#write(uid, pending).finally(() => this.#writes.delete(write))
      this.#writes.add(write)
    })
  }

  async #write(uid: string, pending: Pending): Promise<void> {
    const facts = this.#options.stateOf(uid)
    if (facts === undefined || isTerminating(facts.parent)) return
    if (!this.#options.isOurs(facts.parent)) {
      // Another replica writes it now: what we wrote last says nothing any more.
      pending.written = undefined
      return
    }
    const { kinds } = this.#options
    const status = parentStatus({
      generation: facts.parent.metadata.generation,
      inputKinds: kinds.inputs,
      inputTotals: facts.inputTotals,
      outputKinds: kinds.outputs,
      outputs: facts.outputs,
      before: facts.parent.status,
    })
    if (jsonEqual(status, pending.written ?? ownFields(facts.parent, status))) return
    pending.writing = true
    pending.again = false
    const wait = await this.#apply(facts.parent, status, pending)
    pending.writing = false
    pending.last = this.#options.clock.now()
    if (this.#stopped || this.#pending.get(uid) !== pending) return
    if (wait !== undefined) this.#schedule(uid, pending, wait)
    else if (pending.again) this.dirty(uid)
  }

  /** Returns how long to wait before trying again, undefined when it was written or never can be. */
  async #apply(parent: KubeObject, status: JsonObject, pending: Pending): Promise<number | undefined> {
    const { apiVersion, kind, metadata } = parent
    const { name, namespace, uid } = metadata
    const configuration: KubeObject = {
      apiVersion,
      kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid },
      status,
    }
    try {
      const { object } = await this.#options.client.applyRaw(configuration, { subresource: 'status' })
      pending.written = status
      if (jsonEqual(status, ownFields(object, status))) return this.#report(undefined)
      this.#given = true
      return this.#report(
        `the schema of ${groupResource(this.#options.kinds.parent)} drops status.inputs or status.outputs; add them there to see counts`,
      )
    } catch (error) {
      // Gone, or another object of the name: its removal comes by the watch.
      if (isConflict(error)) return undefined
      if (isNotFound(error)) {
        const isThere =
          (await this.#options.client
            .find(parent, { namespace: namespace ?? '', name: name ?? '' })
            .catch(() => undefined)) !== undefined
        this.#given = isThere
        return isThere
          ? this.#report(`${groupResource(this.#options.kinds.parent)} has no status subresource; add it to see counts`)
          : undefined
      }
      this.#options.log.warn('Could not write the status of a parent', {
        parent: `${kind} ${namespace ?? ''}/${name ?? ''}`,
        error,
      })
      if (isForbidden(error)) this.#report((error as Error).message)
      return retry
    }
  }

  #report(problem: string | undefined): undefined {
    if (problem !== this.#problem) {
      this.#problem = problem
      this.#options.changed()
    }
    return undefined
  }
}

/** The fields of an object's status that ours has too. */
function ownFields(object: KubeObject, status: JsonObject): JsonObject {
  const observed = isObject(object.status) ? asJson(object.status) : {}
  return pick(observed, status) as JsonObject
}

/** Of `value` what `like` has: kinds by name, and within one of our kinds everything, so that a count that went away is seen. */
function pick(value: JsonObject, like: JsonObject): JsonValue {
  const picked: Record<string, JsonValue> = {}
  for (const field of Object.keys(like)) {
    const [own, wanted] = [value[field], like[field]]
    if (own === undefined) continue
    const isSection = (field === 'inputs' || field === 'outputs') && isObject(own) && isObject(wanted)
    picked[field] = isSection
      ? Object.fromEntries(Object.entries(asJson(own)).filter(([name]) => Object.hasOwn(wanted, name)))
      : own
  }
  return picked
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
