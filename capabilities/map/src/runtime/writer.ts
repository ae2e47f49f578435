// Carries out plans: the writes of design decision 5 and nothing else.
import type { Client } from '@fairlead/client'
import { CollisionError } from '@fairlead/client'
import { StatusError, isConflict, isNotFound, isTerminating, keyOf, ownerReferenceTo } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { isOutputOf } from '../engine/group.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { Action, Plan } from '../engine/plan.ts'
import { refusal } from '../engine/plan.ts'

/**
 * Some of a plan could not be carried out. The message says what and why.
 * - `NameTaken`: an object that this controller does not own has the name of an output. It is left alone; the output is made when the name is free.
 * - `OtherGroup`: an output of another input has the name. It is left alone.
 * - `CacheBehind`: an object was just written and is not in the cache yet. Settles itself; no event.
 * - `WriteFailed`: several writes failed, or the server refused one; the message has the reasons.
 */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  readonly code: 'NameTaken' | 'OtherGroup' | 'CacheBehind' | 'WriteFailed'
  /** The objects in the way, where names were taken. */
  readonly strangers: readonly KubeObject[]

  constructor(
    code: WriteError['code'],
    message: string,
    options: { readonly strangers?: readonly KubeObject[]; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.strangers = options.strangers ?? []
  }
}

/** Whose group is written. */
export interface WriteContext {
  /** Applies with the controller's field manager, by force. */
  readonly client: Client
  readonly controllerName: string
  readonly parent: KubeObject
  readonly mapKey: string
  /** Told of every write that had an effect: `object` as it stands now, undefined when it is gone. */
  readonly wrote: (
    op: 'create' | 'update' | 'delete' | 'adopt',
    object: KubeObject | undefined,
    before: KubeObject | undefined,
  ) => void
}

/** Writes of one group in flight at a time. */
const parallel = 8

/** Carries out a plan, deletes first. Everything is tried; throws the first error (WriteError, StatusError) in the end. */
export async function carryOut(plan: Plan, context: WriteContext): Promise<void> {
  const errors: unknown[] = []
  const attempt = async (action: Action): Promise<void> => {
    try {
      await carryOutOne(action, context)
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
 * Makes an orphan that names this parent its output again (Q8): the parent is read afresh, and the orphan must be as it was seen. Returns it.
 * The owner reference is patched in: an apply would have to repeat every field that was ever applied.
 */
export async function adopt(
  orphan: KubeObject,
  { client, parent, wrote }: WriteContext,
): Promise<KubeObject | undefined> {
  const fresh = await client.find(parent, keyOf(parent))
  if (fresh === undefined || fresh.metadata.uid !== parent.metadata.uid || isTerminating(fresh)) return undefined
  const { uid = null, resourceVersion = null, ownerReferences = [] } = orphan.metadata
  const owners = [...ownerReferences, ownerReferenceTo(fresh)] as unknown as JsonObject[]
  const merge = { metadata: { uid, resourceVersion, ownerReferences: owners } }
  const adopted = await client.patch(orphan, keyOf(orphan), { merge }, { manager: `${client.manager}-adopt` })
  wrote('adopt', adopted, orphan)
  return adopted
}

async function carryOutOne(action: Action, context: WriteContext): Promise<void> {
  switch (action.op) {
    case 'keep':
      return
    case 'create':
      return create(action.configuration.object, context)
    case 'update':
      return update(action, context)
    case 'delete':
      return remove(action, context)
    case 'refuse':
      throw new WriteError(action.reason, action.message, { strangers: [action.existing] })
  }
}

async function create(
  object: KubeObject,
  { client, controllerName, parent, mapKey, wrote }: WriteContext,
): Promise<void> {
  try {
    // The cache has been asked already, and after a delete it may lag: what counts now is the server.
    wrote('create', await client.with({ cached: () => undefined }).apply(object, { isOurs: () => false }), undefined)
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
    throw new WriteError(reason, message, { strangers: [live], cause: error })
  }
}

async function update(
  { observed, configuration }: Action & { op: 'update' },
  { client, wrote }: WriteContext,
): Promise<void> {
  const sent = { ...configuration.object, metadata: { ...configuration.object.metadata, uid: observed.metadata.uid } }
  const { object, created } = await client.applyRaw(sent)
  // The uid makes the server refuse to create; an answer without a change is no write.
  if (!created && object.metadata.resourceVersion !== observed.metadata.resourceVersion)
    wrote('update', object, observed)
}

async function remove({ observed, next }: Action & { op: 'delete' }, context: WriteContext): Promise<void> {
  const { client, wrote } = context
  const { uid } = observed.metadata
  try {
    const left = await client.delete(observed, keyOf(observed), { propagation: 'Background', preconditions: { uid } })
    wrote('delete', left, observed)
    // What finalizers hold is made anew when it is gone: its removal asks the group again.
    if (left === undefined && next !== undefined) await create(next.configuration.object, context)
  } catch (error) {
    // Gone already, or another object of the name: not ours to delete. The watch tells the rest.
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}

async function inParallel(actions: readonly Action[], run: (action: Action) => Promise<void>): Promise<void> {
  const left = actions.values()
  const worker = async (): Promise<void> => {
    for (const action of left) await run(action)
  }
  await Promise.all(Array.from({ length: Math.min(parallel, actions.length) }, worker))
}

/** One error for several. A server that refuses or fails decides how the retry waits, so its error comes first. */
function combined(errors: readonly unknown[]): WriteError {
  const texts = errors.map((error) => (error instanceof Error ? error.message : String(error)))
  const strangers = errors.flatMap((error) => (error instanceof WriteError ? error.strangers : []))
  const cause = errors.find((error) => error instanceof StatusError) ?? errors[0]
  return new WriteError('WriteFailed', texts.join('; '), { strangers, cause })
}
