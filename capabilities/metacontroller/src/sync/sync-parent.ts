// Syncs one parent: finalizer, children, hook, writes.
import type { Client } from '@fairlead/client'
import { addFinalizer, removeFinalizer } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { ChildWriter } from '../children/child-writer.ts'
import { planChildren } from '../children/child-plan.ts'
import type { Child } from '../children/child.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import type { OutputWrite } from '../runtime/writer.ts'
import type { Customize } from './customize.ts'
import type { Claims, Flavour, ParentKind } from './flavour.ts'
import { managesChildren, parentStep } from './parent.ts'
import { writeParent } from './parent-writer.ts'
import type { SyncResponse } from './response.ts'
import type { SyncCaches } from './sync-caches.ts'
import type { SyncHooks } from './sync-hooks.ts'

/** Dependencies of the sync of one parent. */
export interface SyncParentOptions {
  readonly flavour: Flavour
  readonly caches: SyncCaches
  readonly hooks: SyncHooks
  readonly customize: Customize | undefined
  /** The controller as it is now. */
  readonly controller: KubeObject
  readonly client: Client
  readonly signal: AbortSignal
  readonly onWrite: (write: OutputWrite) => void
}

/** The outcome of a sync that did not fail. */
export interface SyncOutcome {
  /** Something is not known yet; sync again then. */
  readonly isHeld: boolean
  readonly resyncAfterSeconds: number | undefined
}

const done: SyncOutcome = { isHeld: false, resyncAfterSeconds: undefined }

/**
 * Syncs a parent of a kind. Throws SelectorError, ResponseError, LastAppliedError, what hooks throw, WriteError and
 * StatusError.
 */
export async function syncParent(
  given: KubeObject,
  kind: ParentKind,
  options: SyncParentOptions,
): Promise<SyncOutcome> {
  const { flavour, caches, hooks, customize, client, onWrite } = options
  const { finalizer } = flavour
  const hasFinalizeHook = hooks.finalize !== undefined
  const stepOf = (parent: KubeObject): ReturnType<typeof parentStep> =>
    parentStep({ parent, isSelected: flavour.selects(parent), finalizer, hasFinalizeHook })
  let parent = given
  let step = stepOf(parent)
  if (step === 'addFinalizer' || step === 'removeFinalizer') {
    const change = step === 'addFinalizer' ? addFinalizer : removeFinalizer
    const changed = await change(client, parent, finalizer)
    if (changed === undefined) return done
    onWrite({ op: 'update', before: parent, after: changed })
    parent = changed
    step = stepOf(parent)
  }
  const hook = step === 'finalize' ? hooks.finalize : hooks.sync
  if (step === 'ignore' || hook === undefined) return done
  const finalizing = step === 'finalize'
  const writer = new ChildWriter(client, parent, onWrite)
  const children = await claimed(writer, flavour.claim(parent, caches.candidates(parent)))
  const related: readonly ObjectsOfKind[] | undefined =
    customize === undefined ? [] : await customize.related(parent, options.signal)
  if (related === undefined) return { ...done, isHeld: true }
  const { controller, signal } = options
  const { caller, version } = hook
  const request = flavour.request({ controller, parent, children, related, finalizing, version })
  const body = await caller.call({ request, group: parent.metadata.uid ?? '', signal })
  const context = { hook: finalizing ? ('finalize' as const) : ('sync' as const), parent, strict: caller.strict }
  const response = flavour.readResponse(body, context)
  const plan = planChildren(parent, children, flavour.prepare(parent, response.children))
  // A kind may have been lost during the call: a child that is missing is unknown then, not deleted.
  if (!caches.areKnown) return { ...done, isHeld: true }
  const write = { client, kind, change: flavour.parentChange(parent, response), onWrite }
  const outcome = { isHeld: false, resyncAfterSeconds: response.resyncAfterSeconds }
  if (!flavour.writesParentLast) {
    await writeParent({ ...write, parent, ...finishedBy(response, finalizer) })
    if (managesChildren({ parent, finalizer, hasFinalizeHook })) await writer.carryOut(plan)
    return outcome
  }
  if (response.finalized) {
    const changed = await removeFinalizer(client, parent, finalizer)
    if (changed === undefined) return done
    if (changed !== parent) onWrite({ op: 'update', before: parent, after: changed })
    parent = changed
  }
  try {
    if (managesChildren({ parent, finalizer, hasFinalizeHook })) await writer.carryOut(plan)
  } finally {
    // The status says what was observed, even when not all children could be written.
    await writeParent({ ...write, parent })
  }
  return outcome
}

function finishedBy({ finalized }: SyncResponse, finalizer: string): { readonly finished?: string } {
  return finalized ? { finished: finalizer } : {}
}

/** Adopts and releases objects; returns the children of the parent. */
async function claimed(writer: ChildWriter, { children, adopt, release }: Claims): Promise<readonly Child[]> {
  const adopted: Child[] = []
  for (const { kind, object } of adopt) {
    const after = await writer.adopt(object)
    if (after !== undefined) adopted.push({ kind, object: after })
  }
  for (const { object } of release) await writer.release(object)
  return [...children, ...adopted]
}
