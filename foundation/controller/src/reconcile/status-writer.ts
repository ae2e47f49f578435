// Writes status by server-side apply: maintains observedGeneration and Ready; transition times change with the status
// only.
import { ClientError, appliedFields, isApplied, withoutUndefined } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { condition, findCondition, formatTime, isNotFound, parseApiVersion, setCondition } from '@fairlead/kube'
import type { Clock, Condition, JsonObject, KubeObject } from '@fairlead/kube'

/** Status that a reconcile writes. `observedGeneration` is filled in; conditions need no times. */
export type StatusFields = { readonly conditions?: readonly Condition[] } & Readonly<Record<string, unknown>>

/** Writes the status of the object that is being reconciled. */
export interface StatusWriter {
  /**
   * Applies all status fields of this controller: fields that it applied before and leaves out now are removed. Fills
   * in `observedGeneration`, and the condition `Ready` (True, reason `Reconciled`) where none is given. Sends nothing
   * when nothing changes.
   */
  apply(status: StatusFields): Promise<void>
}

/** Options of an {@link ObjectStatus}. */
export interface ObjectStatusOptions {
  /** The newest known version of the object, with which the status is compared. */
  readonly live: KubeObject
  /** This controller is known to write status: then Ready is its own. */
  readonly isOwner: boolean
  /** Called with the response to each write. */
  readonly onWritten: (response: KubeObject) => void
}

/** The {@link StatusWriter} of one object in one run. */
export class ObjectStatus implements StatusWriter {
  readonly #client: Client
  readonly #clock: Clock
  readonly #object: KubeObject
  readonly #onWritten: (response: KubeObject) => void
  #live: KubeObject
  #stated = false
  /** True when this controller is known to write status: then Ready is its own. */
  readonly #isOwner: boolean

  /** `object` is the object that is being reconciled: the status is of its generation. */
  constructor(
    { client, clock }: { readonly client: Client; readonly clock: Clock },
    object: KubeObject,
    { live, isOwner, onWritten }: ObjectStatusOptions,
  ) {
    this.#isOwner = isOwner
    this.#client = client
    this.#clock = clock
    this.#object = object
    this.#live = live
    this.#onWritten = onWritten
  }

  /** Reports whether this run has applied a status. */
  get stated(): boolean {
    return this.#stated
  }

  async apply(status: StatusFields): Promise<void> {
    this.#stated = true
    const conditions = status.conditions ?? []
    const ready =
      findCondition(conditions, 'Ready') === undefined ? [condition('Ready', true, { reason: 'Reconciled' })] : []
    await this.#write({ ...status, conditions: [...ready, ...conditions] })
  }

  /**
   * Sets Ready to False and leaves all other fields of this controller unchanged. Where it never wrote a status, it
   * does so on custom kinds with a status subresource only, and not where another field manager owns Ready.
   */
  async fail(reason: string, message: string): Promise<void> {
    const own = this.#own() ?? ((await this.#mayStart()) ? {} : undefined)
    await this.#amend(own, condition('Ready', false, { reason, message }))
  }

  /** Sets Ready back to True after a reported failure, unless this run has applied a status itself. */
  async recovered(): Promise<void> {
    if (!this.#stated) await this.#amend(this.#own(), condition('Ready', true, { reason: 'Reconciled' }))
  }

  async #amend(own: JsonObject | undefined, ready: Condition): Promise<void> {
    if (own === undefined || (!this.#isOwner && onlyReady(own) && this.#isReadyOfOthers())) return
    const others = ((own.conditions as readonly Condition[] | undefined) ?? []).filter((one) => one.type !== 'Ready')
    await this.#write({ ...own, conditions: [ready, ...others] })
  }

  #own(): JsonObject | undefined {
    return appliedFields(this.#live, this.#client.manager, 'status')?.status as JsonObject | undefined
  }

  /** Reports whether a first status may consist of Ready alone. Ready of a Node or Pod has a meaning of its own. */
  async #mayStart(): Promise<boolean> {
    const { group } = parseApiVersion(this.#live.apiVersion)
    if (!group.includes('.') || group.endsWith('.k8s.io')) return false
    return (await this.#client.discovery.describe(this.#live)).subresources.includes('status')
  }

  /** Reports whether another field manager owns Ready, and this controller does not. */
  #isReadyOfOthers(): boolean {
    const conditions = (this.#live.status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? []
    if (findCondition(conditions, 'Ready') === undefined) return false
    const own = (this.#own()?.conditions ?? []) as unknown as readonly Partial<Condition>[]
    return own.find((one) => one.type === 'Ready')?.status === undefined
  }

  /** Returns the error of a status that the server does not serve: what to add, if the kind has no such subresource. */
  async #noSubresource(error: unknown): Promise<unknown> {
    const { subresources } = await this.#client.discovery.describe(this.#object)
    if (subresources.includes('status')) return error
    return new ClientError(
      'InvalidRequest',
      `${this.#object.kind} has no status subresource, so its status cannot be written: add "subresources: {status: {}}" to the version in its CustomResourceDefinition`,
      { cause: error },
    )
  }

  async #write(status: StatusFields): Promise<void> {
    const { apiVersion, kind, metadata } = this.#object
    const generation = metadata.generation
    const before = (this.#live.status as { conditions?: readonly Condition[] } | undefined)?.conditions
    const now = formatTime(this.#clock.now())
    const conditions = (status.conditions ?? []).map((one) =>
      placed(before, { ...one, observedGeneration: one.observedGeneration ?? generation }, now),
    )
    const configuration: KubeObject = {
      apiVersion,
      kind,
      metadata: { name: metadata.name, ...(metadata.namespace ? { namespace: metadata.namespace } : {}) },
      status: withoutUndefined({
        ...status,
        ...(generation === undefined ? {} : { observedGeneration: generation }),
        conditions,
      }),
    }
    if (isApplied(this.#live, configuration, this.#client.manager, 'status')) return
    const sent = { ...configuration, metadata: { ...configuration.metadata, uid: metadata.uid } }
    try {
      this.#live = (await this.#client.applyRaw(sent, { subresource: 'status', force: true })).object
    } catch (error) {
      throw isNotFound(error) ? await this.#noSubresource(error) : error
    }
    this.#onWritten(this.#live)
  }
}

/** Returns the condition with its last transition time: that of the live one while the status is the same. */
function placed(before: readonly Condition[] | undefined, next: Condition, now: string): Condition {
  return findCondition(setCondition(before, next, now), next.type)!
}

/** Reports whether a status holds nothing but the condition Ready: this controller has not applied a status yet. */
function onlyReady({ observedGeneration: _generation, conditions, ...rest }: JsonObject): boolean {
  const types = ((conditions ?? []) as unknown as readonly Condition[]).map(({ type }) => type)
  return Object.keys(rest).length === 0 && types.every((type) => type === 'Ready')
}
