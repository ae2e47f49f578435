// Carries out plans: the writes of design decision 5 and nothing else.
import type { Client } from '@fairlead/client'
import { CollisionError, isObjectNotFound } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { StatusError, asJson, isAlreadyExists, isConflict, isForbidden, isTerminating, keyOf } from '@fairlead/kube'
import { adoptByAnnotation, mayAdoptOnRequest } from '../engine/annotations.ts'
import { isOutputOf } from '../engine/group.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { Action, Plan } from '../engine/plan.ts'
import { adopted, refusal } from '../engine/plan.ts'
import { appliedAnnotation, seenAnnotation } from '../engine/tag.ts'

/**
 * A part of a plan could not be carried out. The message says which and why.
 * - `NameTaken`: an object that this controller does not own has the name of an output. It is left as it is; the output
 *   is created when the name is free.
 * - `OtherGroup`: an output of another input has the name. It is left as it is.
 * - `CacheBehind`: an object was just written and is not in the cache yet. Resolves itself; no event.
 * - `WriteFailed`: several writes failed, or the server refused one; the message has the reasons.
 */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  readonly code: 'NameTaken' | 'OtherGroup' | 'CacheBehind' | 'WriteFailed'
  /** The existing objects, where names were taken. */
  readonly existing: readonly KubeObject[]

  constructor(
    code: WriteError['code'],
    message: string,
    options: { readonly existing?: readonly KubeObject[]; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.existing = options.existing ?? []
  }
}

/** A write of an output that had an effect. */
export interface OutputWrite {
  readonly op: 'create' | 'update' | 'delete' | 'adopt'
  /** The output before the write; undefined when it was created. */
  readonly before: KubeObject | undefined
  /** The output after the write; undefined when it is deleted. */
  readonly after: KubeObject | undefined
}

/** The group that a {@link GroupWriter} writes. */
export interface GroupWriterOptions {
  /** Applies with the controller's field manager, by force. */
  readonly client: Client
  readonly controllerName: string
  readonly parent: KubeObject
  readonly mapKey: string
  readonly onWrite: (write: OutputWrite) => void
}

/** Writes of one group in flight at a time. */
const concurrentWrites = 8

/** Writes the outputs of one group. */
export class GroupWriter {
  readonly #options: GroupWriterOptions

  constructor(options: GroupWriterOptions) {
    this.#options = options
  }

  /**
   * Carries out a plan: adoptions, then deletes, then all others. When it deletes anything, the server checks all that
   * it writes first: a response that the server refuses costs no output. Tries everything; then throws the errors as
   * one (WriteError, StatusError); conflicts, which a retry resolves, only when there is no other error.
   */
  async carryOut(plan: Plan): Promise<void> {
    const errors: unknown[] = []
    const all = async <T extends Action>(actions: readonly T[], run: (action: T) => Promise<void>): Promise<void> =>
      inParallel(actions, async (action) => {
        try {
          await run(action)
        } catch (error) {
          errors.push(error)
        }
      })
    const current = new Map<string | undefined, KubeObject | undefined>()
    await all(plan.filter(isAdoption), async ({ observed }) => {
      current.set(observed.metadata.uid, undefined)
      current.set(observed.metadata.uid, await this.#adopt(observed))
    })
    const left = plan.flatMap((action) => afterAdoption(action, current))
    const isRemoval = ({ op }: Action): boolean => op === 'delete' || op === 'release'
    const deletes = left.filter(isRemoval)
    if (deletes.length > 0) await all(left, (action) => this.#check(action))
    // The response is used whole or not at all: what replaces the outputs could not be written.
    const isRefused = errors.length > 0
    if (!isRefused) await all(deletes, (action) => this.#carryOutOne(action))
    await all(
      left.filter((action) => !isRemoval(action) && !(isRefused && deletes.length > 0)),
      (action) => this.#carryOutOne(action),
    )
    const failures = errors.filter((error) => !isConflict(error))
    if (failures.length > 1) throw combinedError(failures)
    if (errors.length > 0) throw failures[0] ?? errors[0]
  }

  /**
   * Makes an orphan that names this parent its output again (Q8): reads the parent from the server, and the orphan must
   * be as it was observed. Returns it; undefined when the parent is deleted. The owner reference is patched in: an
   * apply would have to repeat every field that was ever applied.
   */
  async #adopt(orphan: KubeObject): Promise<KubeObject | undefined> {
    const { client, parent, onWrite } = this.#options
    const live = await client.find(parent, keyOf(parent))
    if (live === undefined || live.metadata.uid !== parent.metadata.uid || isTerminating(live)) return undefined
    const { uid = null, resourceVersion = null } = orphan.metadata
    const { ownerReferences } = adopted(orphan, live).metadata
    const merge = asJson({ metadata: { uid, resourceVersion, ownerReferences } })
    const after = await client.patch(orphan, keyOf(orphan), { merge }, { manager: `${client.manager}-adopt` })
    onWrite({ op: 'adopt', before: orphan, after })
    return after
  }

  /** Has the server check a write without storing it, and throws what it refuses. */
  async #check(action: Action): Promise<void> {
    const { client } = this.#options
    switch (action.op) {
      case 'create':
        await this.#applyAsNew(action.configuration.object, { dryRun: true })
        return
      case 'update': {
        const { object } = action.configuration
        const { uid } = action.observed.metadata
        await client.applyRaw({ ...object, metadata: { ...object.metadata, uid } }, { dryRun: true })
        return
      }
      case 'delete':
        if (action.next !== undefined) await checkSuccessor(client, action.next.configuration.object)
        return
      case 'refuse':
        return this.#carryOutOne(action)
      case 'release':
      case 'adopt':
      case 'keep':
    }
  }

  async #carryOutOne(action: Action): Promise<void> {
    switch (action.op) {
      case 'adopt':
      case 'keep':
        return
      case 'create':
        return this.#create(action.configuration.object)
      case 'update':
        return this.#update(action)
      case 'delete':
        return this.#delete(action)
      case 'release':
        return this.#release(action.observed)
      case 'refuse':
        throw new WriteError(action.reason, action.message, { existing: [action.existing] })
    }
  }

  async #create(object: KubeObject): Promise<void> {
    const after = await this.#applyAsNew(object)
    if (after !== undefined) this.#options.onWrite({ op: 'create', before: undefined, after })
  }

  /**
   * Creates an object by server-side apply and never takes over an existing one. Bypasses the cache: the plan has read
   * it already, and after a delete it may lag behind the server. An object that asks for it is adopted instead: returns
   * undefined, and its event makes it an output. Throws WriteError when the name is taken.
   */
  async #applyAsNew(object: KubeObject, options: { readonly dryRun?: boolean } = {}): Promise<KubeObject | undefined> {
    const { client, controllerName, parent, mapKey } = this.#options
    try {
      const uncached = client.with({ cached: () => undefined })
      return await uncached.apply(object, { ...options, isOurs: () => false })
    } catch (error) {
      if (!(error instanceof CollisionError)) throw error
      const { live } = error
      if (isOutputOf(live, controllerName, parent, mapKey)) {
        throw new WriteError(
          'CacheBehind',
          `${formatIdentity(identityOf(live))} was just written and is not in the cache yet`,
          { cause: error },
        )
      }
      if (mayAdoptOnRequest(controllerName, parent, live)) {
        if (options.dryRun !== true) await this.#adoptOnRequest(live, object)
        return undefined
      }
      const { reason, message } = refusal({ controllerName, parent }, identityOf(live), live)
      throw new WriteError(reason, message, { existing: [live], cause: error })
    }
  }

  async #adoptOnRequest(live: KubeObject, desired: KubeObject): Promise<void> {
    const { client, onWrite } = this.#options
    const { uid = null, resourceVersion = null, ownerReferences = [] } = live.metadata
    const { labels = {}, annotations = {}, ownerReferences: owners = [] } = desired.metadata
    // It was not applied yet: the digests are left to the apply.
    const { [appliedAnnotation]: _applied, [seenAnnotation]: _seen, ...tags } = annotations
    const metadata = {
      uid,
      resourceVersion,
      ownerReferences: [...ownerReferences, ...owners],
      labels,
      annotations: { ...tags, [adoptByAnnotation]: null },
    }
    const merge = asJson({ metadata })
    const after = await client.patch(live, keyOf(live), { merge }, { manager: `${client.manager}-adopt` })
    onWrite({ op: 'adopt', before: live, after })
  }

  async #update({ observed, configuration }: Action & { op: 'update' }): Promise<void> {
    const { client, onWrite } = this.#options
    const { object: wanted } = configuration
    const applied = { ...wanted, metadata: { ...wanted.metadata, uid: observed.metadata.uid } }
    const { object, created } = await client.applyRaw(applied)
    // The uid makes the server refuse to create; a response without a change is no write.
    if (!created && object.metadata.resourceVersion !== observed.metadata.resourceVersion)
      onWrite({ op: 'update', before: observed, after: object })
  }

  /** Removes the owner reference; the tag stays, by which the parent finds the output again. */
  async #release(output: KubeObject): Promise<void> {
    const { client, parent, onWrite } = this.#options
    const { uid = null, resourceVersion = null, ownerReferences = [] } = output.metadata
    const left = ownerReferences.filter((owner) => owner.uid !== parent.metadata.uid)
    const merge = asJson({ metadata: { uid, resourceVersion, ownerReferences: left.length === 0 ? null : left } })
    try {
      const after = await client.patch(output, keyOf(output), { merge }, { manager: `${client.manager}-adopt` })
      onWrite({ op: 'update', before: output, after })
    } catch (error) {
      if (!isObjectNotFound(error)) throw error
    }
  }

  async #delete({ observed, next }: Action & { op: 'delete' }): Promise<void> {
    const { client, onWrite } = this.#options
    const { uid, resourceVersion } = observed.metadata
    const preconditions = { uid, resourceVersion }
    let left: KubeObject | undefined
    try {
      left = await client.delete(observed, keyOf(observed), { propagation: 'Background', preconditions })
    } catch (error) {
      // Deleted already. A change is an error: its event enqueues nothing when the changed fields are ignored.
      if (isObjectNotFound(error)) return
      throw error
    }
    onWrite({ op: 'delete', before: observed, after: left })
    // An output that finalizers hold is created again after its removal, which enqueues the group. The removal of any
    // other does not: every error of the creation is thrown, so that the group is retried.
    if (left === undefined && next !== undefined) await this.#create(next.configuration.object)
  }
}

/**
 * Has the server check an object whose name is still taken by the output that it replaces: the last thing that a create
 * finds out is that the name is taken.
 */
export async function checkSuccessor(client: Client, object: KubeObject): Promise<void> {
  try {
    await client.create(object, { dryRun: true, fieldValidation: 'Strict' })
  } catch (error) {
    // The quota counts the output that is replaced.
    const isOverQuota = isForbidden(error) && error.message.includes('exceeded quota')
    if (!isAlreadyExists(error) && !isOverQuota) throw error
  }
}

function isAdoption(action: Action): action is Action & { op: 'adopt' } {
  return action.op === 'adopt'
}

/** Returns the action on an output as its adoption left it; none when it was not adopted. */
function afterAdoption(
  action: Action,
  adoptedByUid: ReadonlyMap<string | undefined, KubeObject | undefined>,
): Action[] {
  if (action.op === 'adopt') return []
  if (!('observed' in action) || !adoptedByUid.has(action.observed.metadata.uid)) return [action]
  const observed = adoptedByUid.get(action.observed.metadata.uid)
  return observed === undefined ? [] : [{ ...action, observed }]
}

async function inParallel<T extends Action>(actions: readonly T[], run: (action: T) => Promise<void>): Promise<void> {
  const left = actions.values()
  const worker = async (): Promise<void> => {
    for (const action of left) await run(action)
  }
  await Promise.all(Array.from({ length: Math.min(concurrentWrites, actions.length) }, worker))
}

/** Messages of a combined error: a response with thousands of wrong objects has thousands of errors. */
const mostMessages = 5

/** Combines errors into one. A server that refuses or fails decides how the retry waits, so its error is the cause. */
export function combinedError(errors: readonly unknown[]): WriteError {
  const messages = errors
    .slice(0, mostMessages)
    .map((error) => (error instanceof Error ? error.message : String(error)))
  const more = errors.length > mostMessages ? `; and ${errors.length - mostMessages} more` : ''
  const existing = errors.flatMap((error) => (error instanceof WriteError ? error.existing : []))
  const cause = errors.find((error) => error instanceof StatusError) ?? errors[0]
  return new WriteError('WriteFailed', messages.join('; ') + more, { existing, cause })
}
