// Syncs one parent: finalizer, children, hook, writes.
import type { Client } from '@fairlead/client'
import { addFinalizer, removeFinalizer } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { ChildWriter } from '../children/child-writer.ts'
import { planChildren } from '../children/child-plan.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import { syncRevisions } from '../revisions/revision-sync.ts'
import type { OutputWrite } from '../runtime/writer.ts'
import type { Customize } from './customize.ts'
import type { Flavour, ParentKind } from './flavour.ts'
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
  const children = await writer.claim(flavour.claim(parent, caches.candidates(parent)))
  const related: readonly ObjectsOfKind[] | undefined =
    customize === undefined ? [] : await customize.related(parent, options.signal)
  if (related === undefined) return { ...done, isHeld: true }
  const { controller, signal } = options
  const { caller, version } = hook
  const hookName = finalizing ? ('finalize' as const) : ('sync' as const)
  const uid = parent.metadata.uid ?? ''
  const ask = async (of: KubeObject, revision: string): Promise<SyncResponse> => {
    const request = flavour.request({ controller, parent: of, children, related, finalizing, version })
    const group = revision === '' ? uid : `${uid}/${revision}`
    const body = await caller.call({ request, group, signal })
    const response = flavour.readResponse(body, { hook: hookName, parent, strict: caller.strict })
    return { ...response, children: flavour.prepare(parent, response.children) }
  }
  const rules = managesChildren({ parent, finalizer, hasFinalizeHook }) ? flavour.revisions : undefined
  const response =
    rules === undefined
      ? await ask(parent, '')
      : await syncRevisions({
          parent,
          parentKind: kind,
          kinds: flavour.children,
          rules,
          claims: rules.claim(parent, caches.revisions(parent)),
          children,
          client,
          writer,
          ask,
          areKnown: () => caches.areKnown,
          onWrite,
        })
  if (response === undefined) return { ...done, isHeld: true }
  const plan = planChildren(parent, children, response.children)
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
