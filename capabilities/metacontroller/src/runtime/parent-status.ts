// Writes the status of parents: only our own fields, only when they changed, at most once a second for each parent
// (Q15).
import type { Client } from '@fairlead/client'
import { isApplied } from '@fairlead/client'
import type { Logger } from '@fairlead/controller'
import type { Clock, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import {
  asJson,
  isConflict,
  isJsonObject,
  isNotFound,
  isTerminating,
  jsonEqual,
  keyOf,
  StatusError,
} from '@fairlead/kube'
import { managerPrefix } from '../engine/configuration.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import { groupResource } from '../engine/resource.ts'
import type { OutputCounts } from '../engine/status.ts'
import { parentStatus } from '../engine/status.ts'

/** The counts that a parent's status reports. */
export interface ParentCounts {
  readonly parent: KubeObject
  /** One total for each input kind; undefined while it is not known. */
  readonly inputTotals: readonly (number | undefined)[]
  readonly outputs: OutputCounts
}

/** Options of {@link ParentStatus}. */
export interface ParentStatusOptions {
  /** Applies with the controller's field manager, by force. */
  readonly client: Client
  readonly clock: Clock
  readonly kinds: ControllerKinds
  readonly log: Logger
  /** Returns the counts of a parent; undefined when it is deleted or too little is known. */
  readonly countsOf: (uid: string) => ParentCounts | undefined
  /** Returns whether this replica writes the status of the parent. */
  readonly isOurs: (parent: KubeObject) => boolean
  /** Called when {@link ParentStatus.problem} changed. */
  readonly onProblemChanged: () => void
}

/** Milliseconds between two writes of one parent's status. */
const writeInterval = 1000
/** Milliseconds that a first change waits for others that follow it, so that one write reports them all. */
const coalesceDelay = 20
/** Milliseconds until a write that failed is retried. */
const retryDelay = 5000

interface Pending {
  /** Time of the last write, in milliseconds of the clock. */
  last: number
  /** The status written last, and the resourceVersion that the parent had then; undefined before the first write. */
  written: { readonly status: JsonObject; readonly resourceVersion: number } | undefined
  timer: Disposable | undefined
  isWriting: boolean
  isDirty: boolean
}

/** Writes the status of the parents of one controller. */
export class ParentStatus {
  readonly #options: ParentStatusOptions
  readonly #pending = new Map<string, Pending>()
  readonly #writes = new Set<Promise<void>>()
  #problem: string | undefined
  /** Parents that cannot store our status, by uid: no further write is tried. */
  readonly #gaveUp = new Set<string>()
  /** Paths of fields that the schema of the parents does not have, such as `.status.observedGeneration`. */
  readonly #undeclared = new Set<string>()
  /** The generation of the parents' definition that the two before are about. */
  #schema: number | undefined
  #stopped = false

  constructor(options: ParentStatusOptions) {
    this.#options = options
  }

  /** The reason why status cannot be written; undefined when it can. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Schedules a write: the counts of a parent may have changed. */
  markDirty(uid: string): void {
    if (this.#stopped || this.#gaveUp.has(uid)) return
    const pending = this.#pending.get(uid) ?? {
      last: -Infinity,
      written: undefined,
      timer: undefined,
      isWriting: false,
      isDirty: false,
    }
    this.#pending.set(uid, pending)
    if (pending.isWriting) pending.isDirty = true
    else if (pending.timer === undefined)
      this.#schedule(uid, pending, Math.max(coalesceDelay, pending.last + writeInterval - this.#options.clock.now()))
  }

  /**
   * Takes note of the generation of the parents' definition. What an earlier schema could not store is forgotten.
   * Returns whether it is another one than before: the parents need to be marked dirty then.
   */
  schemaIs(generation: number | undefined): boolean {
    if (generation === this.#schema) return false
    this.#schema = generation
    this.#gaveUp.clear()
    this.#undeclared.clear()
    for (const pending of this.#pending.values()) pending.written = undefined
    return true
  }

  /** Forgets a parent that was deleted. */
  forget(uid: string): void {
    this.#pending.get(uid)?.timer?.[Symbol.dispose]()
    this.#pending.delete(uid)
    this.#gaveUp.delete(uid)
  }

  /** Stops writing; resolves when the last write has ended. */
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
    const counts = this.#options.countsOf(uid)
    if (counts === undefined || isTerminating(counts.parent)) return
    if (!this.#options.isOurs(counts.parent)) {
      // Another replica writes it now: forget the status that we wrote last.
      pending.written = undefined
      return
    }
    const { kinds } = this.#options
    const whole = parentStatus({
      generation: counts.parent.metadata.generation,
      inputKinds: kinds.inputs,
      inputTotals: counts.inputTotals,
      outputKinds: kinds.outputs,
      outputs: counts.outputs,
      before: counts.parent.status,
    })
    const status = this.#undeclared.size === 0 ? whole : withoutFields(whole, '.status', this.#undeclared)
    if (this.#isWritten(counts.parent, status, pending)) return
    pending.isWriting = true
    pending.isDirty = false
    const wait = await this.#apply(counts.parent, status, pending)
    pending.isWriting = false
    pending.last = this.#options.clock.now()
    if (this.#stopped || this.#pending.get(uid) !== pending) return
    if (wait !== undefined) this.#schedule(uid, pending, wait)
    else if (pending.isDirty) this.markDirty(uid)
  }

  /** Returns whether the parent has the status, as far as this controller can make it so. */
  #isWritten(parent: KubeObject, status: JsonObject, { written }: Pending): boolean {
    const { manager } = this.#options.client
    if (written === undefined || !jsonEqual(status, written.status))
      return isApplied(parent, statusOf(parent, status), manager, 'status')
    // The cache lags behind the last write, or the parent is as it was written.
    if (Number(parent.metadata.resourceVersion) <= written.resourceVersion) return true
    if (!hasCounts(parent, status)) return false
    // Of two controllers that report the same count, the one whose count changes writes it.
    return isShared(parent, manager) || isApplied(parent, statusOf(parent, status), manager, 'status')
  }

  /** Returns the milliseconds until a retry; undefined when it was written or never can be. */
  async #apply(parent: KubeObject, status: JsonObject, pending: Pending): Promise<number | undefined> {
    const { kind, metadata } = parent
    const { name, namespace, uid = '' } = metadata
    try {
      const { object } = await this.#options.client.applyRaw(statusOf(parent, status), { subresource: 'status' })
      pending.written = { status, resourceVersion: Number(object.metadata.resourceVersion) }
      const { parent: parentKind } = this.#options.kinds
      const missing = [...this.#undeclared].filter((path) => path !== '.status.observedGeneration')
      if (hasCounts(object, status) && missing.length > 0)
        return this.#report(
          `the schema of ${groupResource(parentKind)} has no ${missing.map((path) => path.slice(1)).join(', ')}; add it there to see all counts`,
        )
      if (hasCounts(object, status)) return this.#report(undefined)
      this.#gaveUp.add(uid)
      return this.#report(
        `the schema of ${groupResource(parentKind)} drops status.inputs or status.outputs; add them there to see counts`,
      )
    } catch (error) {
      // Deleted, or another object of the name: the watch reports its removal.
      if (isConflict(error)) return undefined
      if (this.#learnUndeclared(error)) return 0
      const cause = isNotFound(error) ? await this.#causeOfNotFound(parent) : 'Unknown'
      if (cause === 'Deleted') return undefined
      if (cause === 'NoSubresource') {
        this.#gaveUp.add(uid)
        return this.#report(
          `${groupResource(this.#options.kinds.parent)} has no status subresource; add it to see counts`,
        )
      }
      this.#options.log.warn('Could not write the status of a parent', {
        parent: `${kind} ${namespace ?? ''}/${name ?? ''}`,
        error,
      })
      this.#report(error instanceof Error ? error.message : String(error))
      return retryDelay
    }
  }

  /** Learns which fields the schema of the parents lacks from the error of an apply; false when it names no new one. */
  #learnUndeclared(error: unknown): boolean {
    if (!(error instanceof StatusError)) return false
    const { size } = this.#undeclared
    for (const [, path = ''] of error.message.matchAll(undeclaredField)) this.#undeclared.add(path)
    return this.#undeclared.size > size
  }

  /** Returns why a parent's status was not found; `Unknown` when the kind is not served for a while. */
  async #causeOfNotFound(parent: KubeObject): Promise<'Deleted' | 'NoSubresource' | 'Unknown'> {
    const { discovery } = this.#options.client
    try {
      if ((await this.#options.client.find(parent, keyOf(parent))) === undefined) return 'Deleted'
      discovery.invalidate(this.#options.kinds.parent.group)
      const { subresources } = await discovery.describe(parent)
      return subresources.includes('status') ? 'Unknown' : 'NoSubresource'
    } catch {
      return 'Unknown'
    }
  }

  #report(problem: string | undefined): undefined {
    if (problem !== this.#problem) {
      this.#problem = problem
      this.#options.onProblemChanged()
    }
    return undefined
  }
}

/** A field that the schema lacks, in the message of a refused apply. */
const undeclaredField = /(\.status\S*): field not declared in schema/g

/** Returns the object without the fields of these paths. */
function withoutFields(object: JsonObject, path: string, paths: ReadonlySet<string>): JsonObject {
  const kept = Object.entries(object).filter(([name]) => !paths.has(`${path}.${name}`))
  return Object.fromEntries(
    kept.map(([name, value]) => [name, isJsonObject(value) ? withoutFields(value, `${path}.${name}`, paths) : value]),
  )
}

/** Returns the configuration that is applied to the parent's status. */
function statusOf({ apiVersion, kind, metadata }: KubeObject, status: JsonObject): KubeObject {
  const { name, namespace, uid } = metadata
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid }, status }
}

/** Returns whether the parent's status has a value for each of our counts; others may be beside them. */
function hasCounts(parent: KubeObject, status: JsonObject): boolean {
  const observed = isJsonObject(parent.status) ? asJson(parent.status) : {}
  return ['inputs', 'outputs'].every(
    (section) => status[section] === undefined || hasFields(observed[section], status[section]),
  )
}

function hasFields(value: JsonValue | undefined, wanted: JsonValue | undefined): boolean {
  if (!isJsonObject(wanted)) return value !== undefined
  return isJsonObject(value) && Object.entries(wanted).every(([name, field]) => hasFields(value[name], field))
}

/** Returns whether another map controller applies the parent's status, too. */
function isShared({ metadata: { managedFields = [] } }: KubeObject, manager: string): boolean {
  return managedFields.some(
    (entry) =>
      entry.subresource === 'status' && entry.manager !== manager && entry.manager?.startsWith(managerPrefix) === true,
  )
}
