// Carries out plans: the writes of design decision 5 and nothing else.
import type { Client } from '@fairlead/client'
import { CollisionError } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { StatusError, isConflict, isNotFound, isTerminating, keyOf, ownerReferenceTo } from '@fairlead/kube'
import { isOutputOf } from '../engine/group.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { Action, Plan } from '../engine/plan.ts'
import { refusal } from '../engine/plan.ts'

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

  /** Carries out a plan, deletes first. Tries everything; then throws the first error (WriteError, StatusError). */
  async carryOut(plan: Plan): Promise<void> {
    const errors: unknown[] = []
    const attempt = async (action: Action): Promise<void> => {
      try {
        await this.#carryOutOne(action)
      } catch (error) {
        errors.push(error)
      }
    }
    await inParallel(
      plan.filter(({ op }) => op === 'delete'),
      attempt,
    )
    await inParallel(
      plan.filter(({ op }) => op !== 'delete'),
      attempt,
    )
    if (errors.length === 1) throw errors[0]
    if (errors.length > 1) throw combined(errors)
  }

  /**
   * Makes an orphan that names this parent its output again (Q8): reads the parent from the server, and the orphan must
   * be as it was observed. Returns it. The owner reference is patched in: an apply would have to repeat every field
   * that was ever applied.
   */
  async adopt(orphan: KubeObject): Promise<KubeObject | undefined> {
    const { client, parent, onWrite } = this.#options
    const live = await client.find(parent, keyOf(parent))
    if (live === undefined || live.metadata.uid !== parent.metadata.uid || isTerminating(live)) return undefined
    const { uid = null, resourceVersion = null, ownerReferences = [] } = orphan.metadata
    const owners = [...ownerReferences, ownerReferenceTo(live)] as unknown as JsonObject[]
    const merge = { metadata: { uid, resourceVersion, ownerReferences: owners } }
    const adopted = await client.patch(orphan, keyOf(orphan), { merge }, { manager: `${client.manager}-adopt` })
    onWrite({ op: 'adopt', before: orphan, after: adopted })
    return adopted
  }

  async #carryOutOne(action: Action): Promise<void> {
    switch (action.op) {
      case 'keep':
        return
      case 'create':
        return this.#create(action.configuration.object)
      case 'update':
        return this.#update(action)
      case 'delete':
        return this.#delete(action)
      case 'refuse':
        throw new WriteError(action.reason, action.message, { existing: [action.existing] })
    }
  }

  async #create(object: KubeObject): Promise<void> {
    const { client, controllerName, parent, mapKey, onWrite } = this.#options
    try {
      onWrite({ op: 'create', before: undefined, after: await applyAsNew(client, object) })
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
      const { reason, message } = refusal({ controllerName, parent }, identityOf(live), live)
      throw new WriteError(reason, message, { existing: [live], cause: error })
    }
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

  async #delete({ observed, next }: Action & { op: 'delete' }): Promise<void> {
    const { client, onWrite } = this.#options
    const { uid } = observed.metadata
    try {
      const left = await client.delete(observed, keyOf(observed), { propagation: 'Background', preconditions: { uid } })
      onWrite({ op: 'delete', before: observed, after: left })
      // An output that finalizers hold is created again after its removal, which enqueues the group.
      if (left === undefined && next !== undefined) await this.#create(next.configuration.object)
    } catch (error) {
      // Deleted already, or another object of the name: not ours to delete. The watch reports the change.
      if (!isNotFound(error) && !isConflict(error)) throw error
    }
  }
}

/**
 * Creates an object by server-side apply and never takes over an existing one. Bypasses the cache: the plan has read it
 * already, and after a delete it may lag behind the server. Throws CollisionError when the name is taken.
 */
async function applyAsNew(client: Client, object: KubeObject): Promise<KubeObject> {
  const uncached = client.with({ cached: () => undefined })
  return uncached.apply(object, { isOurs: () => false })
}

async function inParallel(actions: readonly Action[], run: (action: Action) => Promise<void>): Promise<void> {
  const left = actions.values()
  const worker = async (): Promise<void> => {
    for (const action of left) await run(action)
  }
  await Promise.all(Array.from({ length: Math.min(concurrentWrites, actions.length) }, worker))
}

/** Combines errors into one. A server that refuses or fails decides how the retry waits, so its error is the cause. */
function combined(errors: readonly unknown[]): WriteError {
  const messages = errors.map((error) => (error instanceof Error ? error.message : String(error)))
  const existing = errors.flatMap((error) => (error instanceof WriteError ? error.existing : []))
  const cause = errors.find((error) => error instanceof StatusError) ?? errors[0]
  return new WriteError('WriteFailed', messages.join('; '), { existing, cause })
}
