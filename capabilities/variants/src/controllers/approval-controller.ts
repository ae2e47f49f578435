// The controller of approval by rule, off unless `--set variants.approval=true`: approves the drafts of variants whose
// annotations request it, when the variant is ready and the draft is as the variant made it (docs/decisions/0602).
import { isDeepStrictEqual } from 'node:util'
import { after, failureOf } from '@fairlead/controller'
import type { Informer, Manager, ReconcileContext, Result } from '@fairlead/controller'
import { controllerOf, findCondition, isTerminating } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { PackageVariantKind } from '../api.ts'
import type { PackageVariant } from '../api.ts'
import { isPublished, observedRevision } from '../engine/observed-revision.ts'
import type { ObservedRevision } from '../engine/observed-revision.ts'
import { asksForApproval, planApproval } from '../engine/variant/approval.ts'
import { withDefaults } from '../engine/variant/spec-errors.ts'
import { isOutOfDate } from '../engine/variant/update.ts'
import { selectUpstream } from '../engine/variant/upstream.ts'
import { madeFiles } from '../runtime/made-files.ts'
import { VariantIndex } from '../runtime/variant-index.ts'

/** Drafts that are approved at a time. */
const concurrency = 4

/** Starts the controller. */
export function startApprovalController(manager: Manager): void {
  let reconciler: ApprovalReconciler | undefined
  const variants = manager.use(PackageVariantKind)
  const controller = manager
    .controller('package-approval')
    .for(PackageRevisionKind, { when: ({ object }) => !isPublished(observedRevision(object)) })
    .watches(PackageVariantKind, draftsOf, {
      when: ({ object }) => asksForApproval(object.spec.annotations),
    })
    .withOptions({ concurrency, keepReady: false })
    .reconcile((context) => reconciler!.reconcile(context))
  reconciler = new ApprovalReconciler(variants.informer, new VariantIndex(variants.informer, controller.informer))
  controller.loop.onStopped(() => variants[Symbol.dispose]())
}

/** Returns the keys of the drafts that a variant has reported. */
function draftsOf({ metadata, status }: PackageVariant): readonly { namespace: string; name: string }[] {
  return (status?.downstreamTargets ?? []).map(({ name }) => ({ namespace: metadata.namespace!, name }))
}

class ApprovalReconciler {
  readonly #variants: Informer<PackageVariant>
  readonly #index: VariantIndex

  constructor(variants: Informer<PackageVariant>, index: VariantIndex) {
    this.#variants = variants
    this.#index = index
  }

  async reconcile(context: ReconcileContext<PackageRevision>): Promise<Result> {
    const { object: draft, events } = context
    const known = this.#variants.read()
    if (!known.known) throw known.reason
    const variant = this.#variantOf(draft)
    if (variant === undefined || !isSettled(variant, draft)) return undefined
    const revisions = this.#index.revisions(variant)
    const observed = revisions.map((revision) => observedRevision(revision))
    const upstream = selectUpstream(variant.spec.upstream, observed).revision
    const seen = observedRevision(draft)
    if (upstream === undefined || isOutOfDate(seen, upstream)) return undefined
    const plan = planApproval({
      draft: seen,
      annotations: draft.metadata.annotations ?? {},
      createdAt: Date.parse(draft.metadata.creationTimestamp ?? ''),
      spec: variant.spec,
      revisions: observed,
      now: context.clock.now(),
    })
    switch (plan.op) {
      case 'leave':
        return undefined
      case 'refuse':
        events.warning('ApprovalRefused', `PackageVariant ${variant.metadata.name}: ${plan.message}`, {
          action: 'Approve',
        })
        return undefined
      case 'wait':
        return after(plan.time)
      case 'approve':
        return this.#approve(context, variant, upstream, revisions)
      default:
        throw new Error(`unknown plan ${String(plan satisfies never)}`)
    }
  }

  /** Returns the variant that controls a draft and asks for approval. */
  #variantOf(draft: PackageRevision): PackageVariant | undefined {
    const owner = controllerOf(draft)
    if (owner?.kind !== PackageVariantKind.kind) return undefined
    const variant = this.#variants.lastKnown.get({ namespace: draft.metadata.namespace!, name: owner.name })
    if (variant === undefined || variant.metadata.uid !== owner.uid || isTerminating(variant)) return undefined
    if (!asksForApproval(variant.spec.annotations)) return undefined
    return { ...variant, spec: withDefaults(variant.spec) }
  }

  async #approve(
    context: ReconcileContext<PackageRevision>,
    variant: PackageVariant,
    upstream: ObservedRevision,
    revisions: readonly PackageRevision[],
  ): Promise<Result> {
    const { object: draft, client, events, read, key } = context
    const made = await madeFiles({ variant, upstream, revisions, client, read })
    const { spec } = await client.get(PackageRevisionResourcesKind, key)
    if (made === undefined || !isDeepStrictEqual({ ...made }, { ...spec.resources })) {
      const message = `the draft is not what PackageVariant ${variant.metadata.name} makes: it was edited, and needs the approval of a user`
      events.warning('ApprovalHeld', message, { action: 'Approve' })
      return undefined
    }
    try {
      // The resourceVersion is that before the files were read: a save in between makes it a conflict.
      const proposed = draft.spec.lifecycle === 'Proposed' ? draft : await client.update(inLifecycle(draft, 'Proposed'))
      await client.update(inLifecycle(proposed, 'Published'), { subresource: 'approval' })
      const policy = `the policy of PackageVariant ${variant.metadata.name}`
      events.normal('Approved', `Approved ${key.name} by ${policy}`, { action: 'Approve' })
    } catch (error) {
      if (failureOf(error).isReported)
        events.warning('ApprovalFailed', error instanceof Error ? error.message : String(error), { action: 'Approve' })
      throw error
    }
    return undefined
  }
}

/** Reports whether a variant is ready with what a draft holds now. */
function isSettled({ metadata, status }: PackageVariant, draft: PackageRevision): boolean {
  const target = status?.downstreamTargets?.find(({ name }) => name === draft.metadata.name)
  return (
    status?.observedGeneration === metadata.generation &&
    findCondition((status?.conditions ?? []) as never, 'Ready')?.status === 'True' &&
    target?.commit !== undefined &&
    target.commit === observedRevision(draft).commit
  )
}

function inLifecycle(revision: PackageRevision, lifecycle: 'Proposed' | 'Published'): PackageRevision & KubeObject {
  return { ...revision, spec: { ...revision.spec, lifecycle } }
}
