// One pass over a variant: carries out the plans of the engine, and returns what is known of the variant afterwards.
// Start with VariantPass.run.
import type { ObjectEvents } from '@fairlead/controller'
import { isDeepStrictEqual } from 'node:util'
import { StatusError, conflict, findCondition } from '@fairlead/kube'
import { PackageError, failureMessage, porchGroup, unmetGates } from '@fairlead/packages'
import type { PackageRevision, PackageRevisionResources, RenderReport, Task } from '@fairlead/packages'
import type { PackageVariant, PackageVariantSpec, PackageVariantStatus } from '../api.ts'
import { isOf, isPublished, observedRevision } from '../engine/observed-revision.ts'
import type { ObservedRevision } from '../engine/observed-revision.ts'
import type { VariantState } from '../engine/variant/conditions.ts'
import { planDownstream } from '../engine/variant/downstream.ts'
import type { RevisionAction } from '../engine/variant/downstream.ts'
import { cloneTask, formerUpstream, isOutOfDate, planUpdate } from '../engine/variant/update.ts'
import type { UpdatePlan } from '../engine/variant/update.ts'
import { nextWorkspaceName } from '../engine/variant/workspace-name.ts'
import type { InjectionDecision } from '../engine/mutation/injection.ts'
import { mutate } from '../engine/mutation/mutate.ts'
import type { Mutation } from '../engine/mutation/mutate.ts'
import { MutationError } from '../engine/mutation/package-text.ts'
import type { PackageText } from '../engine/mutation/package-text.ts'
import type { InjectionReader } from './injection-reader.ts'
import { inputHash, knownPoints } from './input-hash.ts'
import type { Packages, Preview } from './package-client.ts'

type Target = NonNullable<PackageVariantStatus['downstreamTargets']>[number]
type Conflicts = NonNullable<Preview['conflicts']>

/** The findings of a pass, and what it has done. */
export interface PassReport {
  readonly state: VariantState
  readonly targets: readonly Target[]
  readonly decisions: readonly InjectionDecision[]
  readonly conflicts: Conflicts
}

/** The outcome for one downstream revision. */
interface TargetOutcome {
  readonly target: Target
  readonly mutation?: Pick<Mutation, 'decisions' | 'errors' | 'failure'>
  readonly conflicts: Conflicts
  readonly isRefused?: boolean
  readonly pending?: string
  readonly renderFailure?: string | null
  readonly unmetGates?: readonly string[]
}

/** The facts about a revision whose content is as wanted. */
interface Settlement {
  readonly conflicts: Conflicts
  /** The revision where it is newer than the input of the pass. */
  readonly revision?: PackageRevision
  readonly report?: RenderReport | undefined
  /** The failure of its functions that the last pass reported. */
  readonly formerFailure?: string
}

/** The ports that a pass works with. */
export interface PassContext {
  readonly object: PackageVariant
  readonly packages: Packages
  readonly injection: InjectionReader
  readonly events: Pick<ObjectEvents, 'normal'>
}

/** The inputs of a pass. */
export interface PassInput {
  readonly spec: PackageVariantSpec
  readonly upstream: ObservedRevision
  /** All revisions that concern the variant. */
  readonly revisions: readonly PackageRevision[]
  /** The last status. */
  readonly former: PackageVariantStatus | undefined
}

/** One pass. */
export class VariantPass {
  readonly #context: PassContext
  readonly #input: PassInput
  readonly #packages: Packages
  readonly #injection: InjectionReader
  readonly #observed: readonly ObservedRevision[]

  constructor(context: PassContext, input: PassInput) {
    this.#context = context
    this.#input = input
    this.#packages = context.packages
    this.#injection = context.injection
    this.#observed = input.revisions.map((revision) => observedRevision(revision))
  }

  /** Runs the pass. @throws StatusError, KindUnavailable: what a later pass may resolve */
  async run(): Promise<PassReport> {
    const { object } = this.#context
    const { spec } = this.#input
    const { targets, actions } = planDownstream({ uid: object.metadata.uid!, spec }, this.#observed)
    const ofTargets = new Set(targets.map(({ name }) => name))
    await this.#act(actions.filter(({ name }) => !ofTargets.has(name)))
    const taken = targets.length === 0 ? this.#takenBy() : undefined
    if (taken !== undefined) return { targets: [], decisions: [], conflicts: [], state: { error: taken } }
    const outcomes: TargetOutcome[] = []
    if (targets.length === 0) outcomes.push(await this.#create(cloneTask(this.#input.upstream)))
    for (const target of targets)
      outcomes.push(
        await this.#update(
          target,
          actions.filter(({ name }) => name === target.name),
        ),
      )
    return this.#report(outcomes)
  }

  /** Returns why the downstream package cannot be made: it exists and is not ours. */
  #takenBy(): string | undefined {
    const { downstream, adoptionPolicy } = this.#input.spec
    const existing = this.#observed.find((revision) => isOf(revision, downstream))
    if (existing === undefined) return undefined
    const way =
      adoptionPolicy === 'adoptNone'
        ? 'set spec.adoptionPolicy to adoptExisting to take it over'
        : 'it belongs to another owner, or has no revision to adopt'
    return `the package ${downstream.package} exists in the repository ${downstream.repo} (${existing.name}); ${way}`
  }

  async #act(actions: readonly RevisionAction[]): Promise<void> {
    const byName = Map.groupBy(actions, ({ name }) => name)
    for (const [name, own] of byName) {
      const revision = this.#input.revisions.find(({ metadata }) => metadata.name === name)
      if (revision === undefined) continue
      await this.#packages.act(revision, own)
      const what = own.map((action) => ('to' in action ? `${action.op} ${action.to}` : action.op)).join(', ')
      this.#context.events.normal('RevisionChanged', `${name}: ${what}: ${own[0]!.reason}`, { action: own[0]!.op })
    }
  }

  async #update(target: ObservedRevision, adoption: readonly RevisionAction[]): Promise<TargetOutcome> {
    const { spec, upstream } = this.#input
    const { name } = target
    const isMoved = isOutOfDate(target, upstream)
    const plan = (isChanged: boolean): UpdatePlan =>
      planUpdate({ spec, upstream, target, upstreams: this.#observed, isChanged })
    const isWanted = target.lifecycle === 'DeletionProposed'
    const restore: readonly RevisionAction[] = isWanted
      ? [{ op: 'setLifecycle', to: 'Published', name, reason: 'the package is wanted again' }]
      : []
    await this.#act([...adoption, ...restore])
    const known = isMoved ? undefined : await this.#unchanged(target)
    if (known !== undefined) return known
    const early = isMoved ? plan(false) : undefined
    if (early?.op === 'wait') return this.#waiting(target, early.reason)
    // Read before the merge: a save of a user in between makes the write a conflict, and nothing is lost.
    const read = await this.#packages.resources(name)
    const merge = early !== undefined && 'task' in early ? await this.#packages.preview(early.task) : undefined
    const conflicts = merge?.conflicts ?? []
    if (conflicts.length > 0 && spec.onConflict === 'fail')
      return { target: this.#entry(target), conflicts, isRefused: true }
    const before = merge?.resources ?? read.spec.resources
    const mutation = await this.#mutate(before)
    if (mutation.errors.length > 0 || mutation.failure !== undefined)
      return { target: this.#entry(target), mutation, conflicts, ...failureOf(mutation) }
    const decided = plan(mutation.isChanged)
    switch (decided.op) {
      case 'keep':
        return this.#settled(target, mutation, {
          conflicts: this.#formerConflicts(target),
          report: read.status?.renderStatus,
        })
      case 'wait':
        return this.#waiting(target, decided.reason)
      case 'create':
        return this.#createDraft(decided.task, mutation, conflicts, decided.reason)
      case 'save':
      case 'rebase':
        return this.#save(
          target,
          read,
          mutation,
          merge === undefined ? this.#formerConflicts(target) : conflicts,
          decided.reason,
        )
      default:
        throw new Error(`unknown plan ${String(decided satisfies never)}`)
    }
  }

  async #create(task: Task): Promise<TargetOutcome> {
    const { resources = {} } = await this.#packages.preview(task)
    const mutation = await this.#mutate(resources)
    if (mutation.errors.length > 0 || mutation.failure !== undefined)
      return { target: { name: '' }, mutation, conflicts: [], ...failureOf(mutation) }
    return this.#createDraft(task, mutation, [], 'there is no downstream revision')
  }

  async #createDraft(task: Task, mutation: Mutation, conflicts: Conflicts, reason: string): Promise<TargetOutcome> {
    const workspace = nextWorkspaceName(this.#input.spec.downstream, this.#observed)
    return this.#rendering(mutation, conflicts, async () => {
      const created = await this.#packages.createDraft(workspace, task, mutation.files, reason)
      const name = created.metadata.name!
      this.#context.events.normal('DraftCreated', `Created the draft ${name}: ${reason}`, { action: task.type })
      return this.#settled(observedRevision(created), mutation, { conflicts, revision: created })
    })
  }

  async #save(
    target: ObservedRevision,
    before: PackageRevisionResources,
    mutation: Mutation,
    conflicts: Conflicts,
    reason: string,
  ): Promise<TargetOutcome> {
    const { name } = target
    const read = target.lifecycle === 'Proposed' ? await this.#returnToDraft(target, before) : before
    return this.#rendering(mutation, conflicts, async () => {
      await this.#packages.saveDraft(read, mutation.files, reason)
      this.#context.events.normal('DraftUpdated', `Updated the draft ${name}: ${reason}`, { action: 'Save' })
      // The commit is known once the change of the revision arrives, which wakes the variant.
      const { commit: _commit, ...entry } = this.#entry(target)
      return { target: entry, mutation, conflicts, renderFailure: null }
    })
  }

  /** Makes a proposed revision a draft again. Returns its files, which are those that were read before. */
  async #returnToDraft(
    { name }: ObservedRevision,
    before: PackageRevisionResources,
  ): Promise<PackageRevisionResources> {
    await this.#act([{ op: 'setLifecycle', to: 'Draft', name, reason: 'spec.onProposed is returnToDraft' }])
    const read = await this.#packages.resources(name)
    if (!isDeepStrictEqual(read.spec.resources, before.spec.resources))
      throw conflict({ group: porchGroup, plural: 'packagerevisionresources' }, name)
    return read
  }

  /** Runs a save, and reports functions that fail. */
  async #rendering(
    mutation: Mutation,
    conflicts: Conflicts,
    save: () => Promise<TargetOutcome>,
  ): Promise<TargetOutcome> {
    try {
      return await save()
    } catch (error) {
      if (!(error instanceof StatusError) || !error.message.startsWith('error rendering package')) throw error
      return { target: { name: '' }, mutation, conflicts, renderFailure: savedFailure(error) }
    }
  }

  async #mutate(files: PackageText): Promise<Mutation> {
    const { object } = this.#context
    try {
      return await mutate(
        files,
        { name: object.metadata.name!, spec: this.#input.spec },
        {
          decide: (points) => this.#injection.decide(points),
          runOnce: async (input, functions) => {
            const { resources = {}, failure } = await this.#packages.runOnce(input, functions)
            return { files: resources, failure }
          },
        },
      )
    } catch (error) {
      if (!(error instanceof MutationError) && !(error instanceof PackageError)) throw error
      return { files, isChanged: false, decisions: [], errors: [error.message], failure: undefined }
    }
  }

  /** Returns the outcome for a target whose content and inputs are those of the last pass: nothing is read. */
  async #unchanged(target: ObservedRevision): Promise<TargetOutcome | undefined> {
    const { former: status } = this.#input
    const former = status?.downstreamTargets?.find(({ name }) => name === target.name)
    if (former?.inputs === undefined || former.commit === undefined || former.commit !== target.commit) return undefined
    const decisions = await this.#injection.decide(knownPoints(status))
    const inputs = inputHash(this.#input.spec, this.#input.upstream.commit, decisions)
    if (former.inputs !== inputs) return undefined
    const rendered = findCondition((status?.conditions ?? []) as never, 'Rendered')
    return this.#settled(
      target,
      { decisions, errors: [], failure: undefined },
      {
        conflicts: this.#formerConflicts(target),
        ...(rendered?.status === 'False' && { formerFailure: rendered.message }),
      },
    )
  }

  #waiting(target: ObservedRevision, pending: string): TargetOutcome {
    return { target: this.#entry(target), conflicts: this.#formerConflicts(target), pending }
  }

  async #settled(
    target: ObservedRevision,
    mutation: Pick<Mutation, 'decisions' | 'errors' | 'failure'>,
    known: Settlement,
  ): Promise<TargetOutcome> {
    const inputs = inputHash(this.#input.spec, this.#input.upstream.commit, mutation.decisions)
    const revision = known.revision ?? this.#input.revisions.find(({ metadata }) => metadata.name === target.name)
    return {
      target: this.#entry(target, inputs),
      mutation,
      conflicts: isPublished(target) ? [] : known.conflicts,
      renderFailure: await this.#renderFailure(target, revision, known),
      unmetGates: unmetGates(revision?.spec.readinessGates ?? [], revision?.status?.conditions ?? []),
    }
  }

  /** Returns why the functions of a revision failed. Its condition does not name them; the render report does. */
  async #renderFailure(
    { name }: ObservedRevision,
    revision: PackageRevision | undefined,
    { formerFailure, report }: Settlement,
  ): Promise<string | null> {
    const rendered = findCondition((revision?.status?.conditions ?? []) as never, 'Rendered')
    if (rendered?.status !== 'False') return null
    if (formerFailure !== undefined) return formerFailure
    const { result } = report ?? (await this.#packages.resources(name)).status?.renderStatus ?? {}
    return failureMessage(rendered.message ?? 'the functions failed', result?.items ?? [])
  }

  /** Conflicts stay reported until their draft is published. */
  #formerConflicts(target: ObservedRevision): Conflicts {
    if (isPublished(target)) return []
    const revision = this.#input.revisions.find(({ metadata }) => metadata.name === target.name)
    return (this.#input.former?.conflicts ?? revision?.status?.conflicts ?? []) as unknown as Conflicts
  }

  #entry({ name, lifecycle, revision, commit, upstreamLock }: ObservedRevision, inputs?: string): Target {
    const upstream = formerUpstream(upstreamLock, this.#observed)?.name
    return {
      name,
      lifecycle,
      ...(revision > 0 && { revision }),
      ...(upstream !== undefined && { upstream }),
      ...(commit !== undefined && { commit }),
      ...(inputs !== undefined && { inputs }),
    }
  }

  #report(outcomes: readonly TargetOutcome[]): PassReport {
    const conflicts = outcomes.flatMap((outcome) => outcome.conflicts)
    const mutations = outcomes.flatMap(({ mutation }) => (mutation === undefined ? [] : [mutation]))
    const decisions = mutations.flatMap((mutation) => mutation.decisions)
    const pending = outcomes.map((outcome) => outcome.pending).find((text) => text !== undefined)
    const failures = outcomes.map(({ renderFailure }) => renderFailure).filter((one) => one !== undefined)
    const gates = outcomes.flatMap((outcome) => outcome.unmetGates ?? [])
    return {
      targets: outcomes.map(({ target }) => target).filter(({ name }) => name !== ''),
      decisions,
      conflicts,
      state: {
        conflicts,
        isRefused: outcomes.some(({ isRefused }) => isRefused === true),
        ...(mutations.length > 0 && {
          injection: { decisions, errors: mutations.flatMap(({ errors }) => errors) },
        }),
        ...(failures.length > 0 && { renderFailure: failures.find((one) => one !== null) ?? null }),
        ...(outcomes.some(({ unmetGates: unmet }) => unmet !== undefined) && { unmetGates: [...new Set(gates)] }),
        ...(pending !== undefined && { pending }),
      },
    }
  }
}

function failureOf({ failure }: Pick<Mutation, 'failure'>): Pick<TargetOutcome, 'renderFailure'> {
  return failure === undefined ? {} : { renderFailure: failure }
}

/** Returns why a save was refused, from the error of the API: its causes are the reports of the functions. */
function savedFailure({ message, status }: StatusError): string {
  const [, details = message] = /Details: ([^]*)$/.exec(message) ?? []
  return failureMessage(
    details,
    (status.details?.causes ?? []).flatMap(({ message: step = '' }) => {
      try {
        return [JSON.parse(step) as object]
      } catch {
        // Another server may write something else.
        return []
      }
    }),
  )
}
