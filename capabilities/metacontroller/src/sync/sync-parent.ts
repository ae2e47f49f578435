// Syncs one parent: finalizer, children, hook, writes.
import type { Client } from '@fairlead/client'
import type { ResponseReservation } from '@fairlead/controller'
import { addFinalizer, removeFinalizer } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { isTerminating } from '@fairlead/kube'
import type { ApplyStrategy } from '../children/apply-strategy.ts'
import { ChildWriter } from '../children/child-writer.ts'
import type { ChildAction } from '../children/child-plan.ts'
import { isRemoval, planChildrenInSteps } from '../children/child-plan.ts'
import { withOwners } from '../children/child.ts'
import type { HookEvent } from '../engine/hook-event.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import { syncRevisions } from '../revisions/revision-sync.ts'
import type { OutputWrite } from '../runtime/writer.ts'
import type { Customize } from './customize.ts'
import type { Flavour, ParentKind } from './flavour.ts'
import { managesChildren, parentStep } from './parent.ts'
import { writeParent } from './parent-writer.ts'
import type { SyncResponse } from './response.ts'
import type { SettledParents, ShownObjects } from './settled-parents.ts'
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
  /** The way in which children are written. */
  readonly strategy: ApplyStrategy
  /** Calls that would show the hook nothing new are left out; undefined when none may be. */
  readonly settled: SettledParents | undefined
  readonly onWrite: (write: OutputWrite) => void
  /** Holds the memory of large responses until the sync has ended. */
  readonly reservation: ResponseReservation
}

/** The outcome of a sync that did not fail. */
export interface SyncOutcome {
  /** Something is not known yet; sync again then. */
  readonly isHeld: boolean
  /** More is known about the children than before: a rollout may go on, although nothing was written. */
  readonly again?: boolean
  readonly resyncAfterSeconds: number | undefined
  /** Events that the hook asks for, about the parent. */
  readonly events?: readonly HookEvent[]
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
  const { flavour, caches, hooks, customize, client, strategy, settled } = options
  let hasWritten = false
  const onWrite = (write: OutputWrite): void => {
    hasWritten = true
    options.onWrite(write)
  }
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
  const writer = new ChildWriter(client, parent, onWrite, {
    strategy,
    controllerName: options.controller.metadata.name ?? '',
  })
  const children = await writer.claim(flavour.claim(parent, caches.candidates(parent)))
  const related: readonly ObjectsOfKind[] | undefined =
    customize === undefined ? [] : await customize.related(parent, options.signal)
  if (related === undefined) return { ...done, isHeld: true }
  const { controller, signal, reservation } = options
  const { caller, version } = hook
  const hookName = finalizing ? ('finalize' as const) : ('sync' as const)
  const uid = parent.metadata.uid ?? ''
  const rules = managesChildren({ parent, finalizer, hasFinalizeHook }) ? flavour.revisions : undefined
  const shown: ShownObjects = {
    controller,
    parent,
    children: children.map(({ object }) => object),
    related: related.flatMap(({ objects }) => objects),
  }
  if (!finalizing && rules === undefined && settled?.isRestored(shown) === true) return done
  let digest: string | undefined
  const ask = async (of: KubeObject, revision: string): Promise<SyncResponse> => {
    const request = flavour.request({ controller, parent: of, children, related, finalizing, version })
    const group = revision === '' ? uid : `${uid}/${revision}`
    const body = await caller.call({ request, group, signal, reservation })
    digest = body.digest
    const response = flavour.readResponse(body, { hook: hookName, parent, strict: caller.strict })
    // A hook that is not asked to finalize has nothing to say about it: the finalizer would be put on again at once.
    const finalized = finalizing && response.finalized
    return { ...response, finalized, children: withOwners(parent, flavour.prepare(parent, response.children)) }
  }
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
          strategy,
          ask,
          areKnown: () => caches.areKnown,
          onWrite,
        })
  if (response === undefined) return { ...done, isHeld: true }
  const unchanged = digest === undefined ? undefined : settled?.unchanged({ shown, response: digest })
  const plan = await planChildrenInSteps(parent, children, response.children, strategy, unchanged)
  // A kind may have been lost during the call: a child that is missing is unknown then, not deleted.
  if (!caches.areKnown) return { ...done, isHeld: true }
  const write = { client, kind, change: flavour.parentChange(parent, response), onWrite }
  const outcome = { isHeld: false, resyncAfterSeconds: response.resyncAfterSeconds, events: response.events }
  const record = (): void => {
    const isAskedAgain = response.resyncAfterSeconds !== undefined || response.events.length > 0
    if (finalizing || rules !== undefined || isAskedAgain || digest === undefined) return settled?.forget(uid)
    const isSettled = !hasWritten && plan.every(({ op }) => op === 'keep')
    settled?.record({ shown, response: digest, isSettled })
  }
  const isManaged = managesChildren({ parent, finalizer, hasFinalizeHook })
  const { before, after } = splitByFinalizer(isManaged ? plan : [], parent, response, flavour)
  let isFinished = false
  try {
    isFinished = response.finalized && (await writer.carryOut(before))
  } catch (error) {
    await writeParent({ ...write, parent })
    throw error
  }
  if (!flavour.writesParentLast) {
    await writeParent({ ...write, parent, ...(isFinished ? { finished: finalizer } : {}) })
    await writer.carryOut(after)
    record()
    return outcome
  }
  if (isFinished) {
    const changed = await removeFinalizer(client, parent, finalizer)
    if (changed === undefined) return done
    if (changed !== parent) onWrite({ op: 'update', before: parent, after: changed })
    parent = changed
  }
  try {
    await writer.carryOut(after)
  } finally {
    // The status says what was observed, even when not all children could be written.
    await writeParent({ ...write, parent })
  }
  record()
  return { ...outcome, again: rules !== undefined && writer.hasLearned }
}

/**
 * Splits a plan into the writes before and after the removal of the finalizer. Nothing retries what fails afterwards,
 * so the deletes come before it. So do all other writes, but those of an object that is being deleted: creates are
 * refused for good in a namespace that is terminating. A composite parent that is being deleted leaves its children to
 * the garbage collector.
 */
function splitByFinalizer(
  plan: readonly ChildAction[],
  parent: KubeObject,
  { finalized }: SyncResponse,
  { writesParentLast }: Flavour,
): { readonly before: readonly ChildAction[]; readonly after: readonly ChildAction[] } {
  if (!finalized) return { before: [], after: plan }
  if (!isTerminating(parent)) return { before: plan, after: [] }
  if (writesParentLast) return { before: [], after: [] }
  return { before: plan.filter(isRemoval), after: plan.filter((action) => !isRemoval(action)) }
}
