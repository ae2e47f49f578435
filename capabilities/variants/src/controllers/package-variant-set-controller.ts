// The controller of PackageVariantSets: reads what the targets select, plans the variants, writes them and reports.
import { appliedFields } from '@fairlead/client'
import { after, annotationsChanged, anyOf, deletionBegan, labelsChanged } from '@fairlead/controller'
import type { Controller, InformerUse, Manager, ReconcileContext, Result } from '@fairlead/controller'
import { findCondition, formatKey, isControlledBy, isTerminating, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { PackageVariantKind, PackageVariantSetKind } from '../api.ts'
import type { PackageVariant, PackageVariantSet } from '../api.ts'
import { planSet } from '../engine/set/plan.ts'
import type { ObservedVariant, SetPlan } from '../engine/set/plan.ts'
import { selectable } from '../engine/set/spec.ts'
import type { TargetFailure, VariantSpec } from '../engine/set/spec.ts'
import { stalledStatus, statusOf } from '../engine/set/status.ts'
import type { VariantState } from '../engine/set/status.ts'
import { readSelectedObjects } from '../runtime/selected-objects.ts'
import { upstreamOf } from '../runtime/set-upstream.ts'
import { writePlan } from '../runtime/set-writer.ts'
import { WantedCache } from '../runtime/wanted-cache.ts'
import { WrittenVariants } from '../runtime/written-variants.ts'

/** Sets that are worked on at a time. */
const concurrency = 4
/** Milliseconds in which changes of the variants of a set are gathered. */
const gatherInterval = 250
/** Milliseconds until a write that the server refused is tried again. */
const refusedRetry = 60_000
/** Milliseconds until the deletion of a variant that the server did not find is tried again, if it is still cached. */
const unconfirmedRetry = 10_000

const manager = 'fairlead-package-variant-sets'
const bySetUpstream = 'set-upstream'
const byUpstream = 'upstream-package'
const byOwner = 'owning-set'

/** The controller of sets. */
export class PackageVariantSetController implements Disposable {
  readonly #sets: InformerUse<PackageVariantSet>
  readonly #variants: InformerUse<PackageVariant>
  readonly #revisions: InformerUse<PackageRevision>
  readonly #repositories: InformerUse
  readonly #written: WrittenVariants
  readonly #wanted = new WantedCache()
  /** By the object of the cache, which never changes. */
  readonly #observedVariants = new WeakMap<PackageVariant, ObservedVariant>()
  readonly #subscription: Disposable
  readonly #controller: Controller<PackageVariantSet>
  /** Sets that a change of their variants has scheduled. */
  readonly #scheduled = new Set<string>()

  constructor(host: Manager) {
    this.#sets = host.use(PackageVariantSetKind)
    this.#variants = host.use(PackageVariantKind)
    this.#revisions = host.use(PackageRevisionKind)
    this.#repositories = host.use(RepositoryKind)
    this.#sets.informer.lastKnown.addIndex(bySetUpstream, upstreamPackageOf)
    this.#variants.informer.lastKnown.addIndex(byOwner, ownerOf)
    this.#revisions.informer.lastKnown.addIndex(byUpstream, packageOf)
    this.#written = new WrittenVariants(this.#variants.informer)
    const inNamespace = ({ metadata }: KubeObject): readonly string[] =>
      this.#sets.informer.lastKnown.list({ namespace: metadata.namespace! }).map((set) => formatKey(keyOf(set)))
    this.#controller = host
      .controller('package-variant-sets')
      .for(PackageVariantSetKind)
      .withOptions({ concurrency, manager })
      .watches(RepositoryKind, inNamespace, { when: anyOf(labelsChanged, annotationsChanged, deletionBegan) })
      .watches(PackageRevisionKind, (revision) => this.#followersOf(revision))
      .onDeleted(({ key }) => this.#wanted.delete(formatKey(key)))
      .reconcile((context) => this.#reconcile(context))
    this.#subscription = this.#variants.informer.subscribe(
      {
        changed: ({ object, previous }) => {
          for (const variant of [object, previous]) if (variant !== undefined) this.#schedule(variant)
        },
      },
      { replay: false },
    )
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]()
    this.#written[Symbol.dispose]()
    for (const use of [this.#sets, this.#variants, this.#revisions, this.#repositories]) use[Symbol.dispose]()
  }

  #followersOf(revision: PackageRevision): Iterable<string> {
    return packageOf(revision).flatMap((value) => [...this.#sets.informer.lastKnown.index(bySetUpstream).keys(value)])
  }

  /** Enqueues the set of a variant, once for all changes of an interval. */
  #schedule({ metadata }: PackageVariant): void {
    for (const { kind, name } of metadata.ownerReferences ?? []) {
      const key = formatKey({ namespace: metadata.namespace!, name })
      if (kind !== PackageVariantSetKind.kind || this.#scheduled.has(key) || !this.#sets.informer.lastKnown.has(key))
        continue
      this.#scheduled.add(key)
      this.#controller.loop.queue.addAfter(key, gatherInterval)
    }
  }

  async #reconcile(context: ReconcileContext<PackageVariantSet>): Promise<Result> {
    const { object: set, key, status, read } = context
    this.#scheduled.delete(formatKey(key))
    if (isTerminating(set)) return undefined
    const [variants, revisions, repositories] = [this.#variants, this.#revisions, this.#repositories].map(
      ({ informer }) => informer.read(),
    )
    for (const cache of [variants, revisions, repositories]) if (!cache!.known) throw cache!.reason
    const existing = this.#existing(set)
    const upstream = upstreamOf(set.spec, this.#revisionsOf(set))
    if (typeof upstream === 'string') {
      await status.apply(stalledStatus('UpstreamNotFound', upstream, existing.map(stateOf)))
      return undefined
    }
    const sources = {
      repositories: this.#repositories.informer.lastKnown.list({ namespace: key.namespace }).map(selectable),
      objects: await readSelectedObjects(set.spec, key.namespace, read, context.client),
    }
    const wanted = this.#wanted.get(formatKey(key), set.spec, upstream, sources)
    const variantsOf = existing.map((variant) => this.#observed(variant))
    const plan = planSet({ name: key.name, spec: set.spec, upstream, ...sources, variants: variantsOf }, wanted)
    return this.#carryOut(plan, existing, context)
  }

  async #carryOut(
    plan: SetPlan,
    existing: readonly PackageVariant[],
    context: ReconcileContext<PackageVariantSet>,
  ): Promise<Result> {
    const { object: set, client, events, read, status } = context
    const uid = set.metadata.uid!
    const written = await writePlan(plan.decisions, {
      client,
      set,
      variants: new Map(existing.map((variant) => [variant.metadata.name!, variant])),
      onWritten: (variant) => this.#written.wrote(uid, variant, this.#variants.informer.lastKnown.get(keyOf(variant))),
    })
    // A name may become free.
    for (const live of written.collisions) await read.get(PackageVariantKind, keyOf(live))
    const failures = [...plan.failures, ...written.failures].toSorted((a, b) => a.target - b.target)
    if (failures.length > 0 && !sameFailures(failures, set.status?.failures))
      events.warning('TargetsFailing', failures[0]!.message, { action: 'Reconcile' })
    const states = this.#existing(set)
      .filter((variant) => !isTerminating(variant))
      .map(stateOf)
    await status.apply(statusOf(plan, failures, states))
    if (written.retry !== undefined) throw written.retry
    if (written.isUnconfirmed) return after(unconfirmedRetry)
    return written.isRefused ? after(refusedRetry) : undefined
  }

  /** Returns the variants that a set controls. */
  #existing(set: PackageVariantSet): readonly PackageVariant[] {
    const cached = this.#variants.informer.lastKnown.byIndex(byOwner, set.metadata.uid!)
    return this.#written
      .newest(set.metadata.uid!, cached)
      .filter((variant) => isControlledBy(variant, set))
      .toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
  }

  #observed(variant: PackageVariant): ObservedVariant {
    const known = this.#observedVariants.get(variant)
    if (known !== undefined) return known
    const observed = observedVariant(variant)
    this.#observedVariants.set(variant, observed)
    return observed
  }

  #revisionsOf({ metadata, spec }: PackageVariantSet): readonly PackageRevision[] {
    const { repo, package: path } = spec.upstream
    return this.#revisions.informer.lastKnown.byIndex(byUpstream, `${metadata.namespace}/${repo}/${path}`)
  }
}

function ownerOf({ metadata }: KubeObject): readonly string[] {
  return (metadata.ownerReferences ?? []).flatMap(({ uid, controller }) => (controller === true ? [uid] : []))
}

function packageOf({ metadata, spec }: PackageRevision): readonly string[] {
  return [`${metadata.namespace}/${spec.repository}/${spec.packageName}`]
}

function upstreamPackageOf({ metadata, spec }: PackageVariantSet): readonly string[] {
  return [`${metadata.namespace}/${spec.upstream.repo}/${spec.upstream.package}`]
}

function observedVariant(variant: PackageVariant): ObservedVariant {
  const { metadata, spec, status } = variant
  const { repo, package: path } = spec.downstream
  const isObserved = status?.observedGeneration === metadata.generation
  const isStalled = findCondition(status?.conditions ?? [], 'Stalled')?.status === 'True'
  return {
    name: metadata.name!,
    repo,
    package: path,
    spec: (appliedFields(variant, manager)?.spec ?? {}) as unknown as VariantSpec,
    ...(status?.upstream?.revision !== undefined && { taken: status.upstream.revision }),
    isOpen: !isObserved || isStalled || stateOf(variant).hasDraft,
    isTerminating: isTerminating(variant),
  }
}

function stateOf({ metadata, status }: PackageVariant): VariantState {
  const ready = findCondition(status?.conditions ?? [], 'Ready')
  return {
    name: metadata.name!,
    isReady: status?.observedGeneration === metadata.generation && ready?.status === 'True',
    hasDraft: (status?.downstreamTargets ?? []).some(
      ({ lifecycle }) => lifecycle === 'Draft' || lifecycle === 'Proposed',
    ),
  }
}

function sameFailures(
  failures: readonly TargetFailure[],
  reported: readonly { readonly message: string }[] | undefined,
): boolean {
  return (reported ?? []).every(({ message }, index) => failures[index]?.message === message) && reported !== undefined
}
