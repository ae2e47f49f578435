// The controller of PackageVariants: keeps the drafts of their downstream packages up to date, and reports.
import { after, failureOf, generationChanged } from '@fairlead/controller'
import type { Controller, Manager, ReconcileContext, Result, StatusFields } from '@fairlead/controller'
import { isTerminating } from '@fairlead/kube'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import { PackageVariantKind } from '../api.ts'
import type { PackageVariant, PackageVariantStatus } from '../api.ts'
import { isOf, isPublished, observedRevision } from '../engine/observed-revision.ts'
import type { ObservedRevision } from '../engine/observed-revision.ts'
import { variantConditions } from '../engine/variant/conditions.ts'
import type { VariantState } from '../engine/variant/conditions.ts'
import { holderOf, planRevisionCleanup } from '../engine/variant/downstream.ts'
import { specErrors, withDefaults } from '../engine/variant/spec-errors.ts'
import { selectUpstream } from '../engine/variant/upstream.ts'
import type { PassReport } from '../runtime/variant-pass.ts'
import { VariantPass } from '../runtime/variant-pass.ts'
import { InjectionReader } from '../runtime/injection-reader.ts'
import { PackageClient } from '../runtime/package-client.ts'
import { VariantIndex } from '../runtime/variant-index.ts'

/** Variants reconciled at a time; pushes are serialised by the repositories. */
const concurrency = 8

/** Interval at which a missing upstream is looked for again, although its appearance is an event. */
const missingInterval = '5m'

/** Conflicts that the status names. */
const maxConflicts = 20

/** Porch's finalizer. */
export const variantFinalizer = 'config.porch.kpt.dev/packagevariants'

/** Starts the controller. */
export function startPackageVariantController(manager: Manager): Controller<PackageVariant> {
  const reconciler = new VariantReconciler()
  const controller = manager
    .controller('packagevariants')
    .for(PackageVariantKind, { when: (change) => generationChanged(change) || hasBegunDeletion(change) })
    .watches(PackageVariantKind, (variant) => reconciler.index.keysOfDownstream(variant), {
      when: (change) =>
        change.type === 'removed' ||
        (change.type === 'added' && !change.initial) ||
        (change.type === 'changed' && change.object.metadata.generation !== change.previous.metadata.generation),
    })
    .watches(PackageRevisionKind, (revision) => reconciler.index.keysOfRevision(revision), {
      when: (change) => !(change.type === 'added' && change.initial),
    })
    .watches(RepositoryKind, (repository) => reconciler.index.keysOfRepository(repository), {
      when: (change) => change.type !== 'changed' || readyOf(change.object) !== readyOf(change.previous),
    })
    .withOptions({ concurrency, keepReady: false })
    .finalizer(variantFinalizer, (context) => reconciler.cleanUp(context))
    .reconcile((context) => reconciler.reconcile(context))
  const revisions = manager.use(PackageRevisionKind)
  reconciler.index = new VariantIndex(controller.informer, revisions.informer)
  controller.loop.onStopped(() => revisions[Symbol.dispose]())
  return controller
}

function hasBegunDeletion(change: { readonly type: string; readonly object: PackageVariant }): boolean {
  return change.type === 'changed' && isTerminating(change.object)
}

function readyOf(object: object): string | undefined {
  const { status } = object as { status?: { conditions?: readonly { type: string; status: string }[] } }
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status
}

class VariantReconciler {
  /** The last status of each variant by UID: the cache may not have it yet. */
  readonly #reported = new Map<string, PackageVariantStatus>()
  #index: VariantIndex | undefined

  /** Set as soon as the caches exist, before anything runs. */
  get index(): VariantIndex {
    if (this.#index === undefined) throw new Error('the controller of PackageVariants has not started')
    return this.#index
  }

  set index(index: VariantIndex) {
    this.#index = index
  }

  async reconcile(context: ReconcileContext<PackageVariant>): Promise<Result> {
    const { object } = context
    const spec = withDefaults(object.spec)
    const errors = specErrors(spec)
    if (errors.length > 0) return this.#report(context, { specErrors: errors })
    const revisions = this.index.revisions(object)
    const observed = revisions.map((revision) => observedRevision(revision))
    const controllers = new Set(
      observed.filter((revision) => isOf(revision, spec.downstream)).map(({ controller }) => controller),
    )
    const holder = holderOf(
      this.index
        .claims(object)
        .filter((claim) => !isTerminating(claim))
        .map(({ metadata }) => ({
          name: metadata.name!,
          uid: metadata.uid!,
          creationTimestamp: metadata.creationTimestamp ?? '',
          hasRevisions: controllers.has(metadata.uid!),
        })),
    )
    if (holder !== undefined && holder.uid !== object.metadata.uid)
      return this.#report(context, { holder: holder.name })
    const selection = selectUpstream(spec.upstream, observed)
    if (selection.revision === undefined) {
      await this.#report(context, { upstream: { problem: selection.problem } }, { observed })
      return after(missingInterval)
    }
    const upstream = { name: selection.revision.name, warnings: selection.warnings }
    const packages = new PackageClient(context.client, object)
    const injection = new InjectionReader(context, object.metadata.namespace!, spec)
    const passContext = { object, packages, injection, events: context.events }
    try {
      const pass = await new VariantPass(passContext, {
        spec,
        upstream: selection.revision,
        revisions,
        former: this.#formerStatus(object),
      }).run()
      await this.#report(context, { ...pass.state, upstream }, { pass, observed, upstream: selection.revision })
    } catch (error) {
      if (failureOf(error).isReported) {
        context.events.warning('UpdateFailed', messageOf(error), { action: 'Reconcile' })
        await this.#report(context, { upstream, error: messageOf(error) }, { observed, upstream: selection.revision })
      }
      throw error
    }
    return undefined
  }

  /** Releases the revisions of a deleted variant. The finalizer stays until all of it has succeeded. */
  async cleanUp(context: ReconcileContext<PackageVariant>): Promise<Result> {
    const { object, client } = context
    const { deletionPolicy } = withDefaults(object.spec)
    const packages = new PackageClient(client, object)
    try {
      // The cache may lack a draft that was just made. Garbage collection deletes it, which `orphan` must not suffer.
      const revisions =
        deletionPolicy === 'orphan'
          ? (await client.list(PackageRevisionKind, { namespace: object.metadata.namespace! })).items
          : this.index.revisions(object)
      for (const revision of revisions) {
        const observed = observedRevision(revision)
        if (!observed.owners.includes(object.metadata.uid!)) continue
        await packages.act(revision, planRevisionCleanup(observed, deletionPolicy))
      }
    } catch (error) {
      if (failureOf(error).isReported) {
        context.events.warning('CleanupFailed', messageOf(error), { action: 'Delete' })
        await this.#report(context, { error: messageOf(error) })
      }
      throw error
    }
    this.#reported.delete(object.metadata.uid!)
    return undefined
  }

  #formerStatus({ metadata, status }: PackageVariant): PackageVariantStatus | undefined {
    return this.#reported.get(metadata.uid!) ?? status
  }

  async #report(
    { object, status }: ReconcileContext<PackageVariant>,
    state: VariantState,
    {
      pass,
      observed,
      upstream,
    }: { pass?: PassReport; observed?: readonly ObservedRevision[]; upstream?: ObservedRevision } = {},
  ): Promise<undefined> {
    const fields = {
      conditions: variantConditions(state),
      ...upstreamFields(upstream),
      ...(pass === undefined ? keptFields(this.#formerStatus(object)) : passFields(pass)),
      ...publishedField(object, observed),
    }
    await status.apply(fields)
    this.#reported.set(object.metadata.uid!, fields as unknown as PackageVariantStatus)
    return undefined
  }
}

function upstreamFields(upstream: ObservedRevision | undefined): StatusFields {
  if (upstream === undefined) return {}
  const { name, revision, workspaceName, commit } = upstream
  return { upstream: { name, revision, workspaceName, ...(commit !== undefined && { commit }) } }
}

/** Returns the fields that stay as they were reported, as they are not known now. */
function keptFields(status: PackageVariantStatus | undefined): StatusFields {
  const { downstreamTargets, injectionPoints, conflicts } = status ?? {}
  return {
    ...(downstreamTargets !== undefined && { downstreamTargets }),
    ...(injectionPoints !== undefined && { injectionPoints }),
    ...(conflicts !== undefined && { conflicts }),
  }
}

function passFields({ targets, decisions, conflicts }: PassReport): StatusFields {
  return {
    downstreamTargets: targets,
    ...(decisions.length > 0 && {
      injectionPoints: decisions.map(({ point, status, message, source }) => ({
        apiVersion: point.apiVersion,
        kind: point.kind,
        name: point.name,
        required: point.isRequired,
        status,
        ...(source === undefined ? { message } : { injectedResource: source.name }),
      })),
    }),
    ...(conflicts.length > 0 && { conflicts: conflicts.slice(0, maxConflicts) }),
  }
}

function publishedField({ spec }: PackageVariant, observed: readonly ObservedRevision[] = []): StatusFields {
  const published = observed
    .filter((revision) => isOf(revision, spec.downstream) && isPublished(revision) && revision.revision > 0)
    .toSorted((a, b) => b.revision - a.revision)[0]
  return published === undefined ? {} : { publishedRevision: published.name }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
