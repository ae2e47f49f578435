// The controller of Repositories: opens them, reads their remotes on schedule, and reports in the status.
import { after, RemoteError } from '@fairlead/controller'
import type { Controller, Manager, ReconcileContext, Result, StatusFields } from '@fairlead/controller'
import { condition, formatTime, StatusError } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { RepositoryKind } from '../api.ts'
import type { Repository } from '../api.ts'
import { GitError, withoutCredentials } from '../git/git-error.ts'
import { LateNotice } from './late-notice.ts'
import { nextTime, parseCron } from '../runtime/cron.ts'
import type { PackageRepository } from '../runtime/package-repository.ts'
import { abortable } from '../runtime/repositories.ts'
import type { Repositories } from '../runtime/repositories.ts'
import type { RevisionStates } from '../runtime/revision-states.ts'

/** Milliseconds between two readings of a remote (spec packages §2.2); up to a tenth is added as jitter. */
const pollInterval = 60_000

/** Repositories that are read at a time. */
const concurrency = 8

const finalizer = 'config.porch.kpt.dev/repositories'

/** Starts the controller. */
export function startRepositoryController(
  manager: Manager,
  repositories: Repositories,
  states: RevisionStates,
): Controller<Repository> {
  return manager
    .controller('repositories')
    .for(RepositoryKind)
    .withOptions({ concurrency })
    .finalizer(finalizer, async ({ object, key, signal }) => {
      await repositories.discard(object)
      await abortable(states.load(), signal)
      await states.deleteAll(key.namespace!, key.name)
    })
    .reconcile((context) => reconcile(context, manager, repositories, states))
}

async function reconcile(
  context: ReconcileContext<Repository>,
  manager: Manager,
  repositories: Repositories,
  states: RevisionStates,
): Promise<Result> {
  const { object, key, signal, status } = context
  const problem = unsupported(object) ?? repositories.unsupported(object)
  if (problem !== undefined) {
    await repositories.close(key)
    repositories.attempted(key)
    await status.apply({ conditions: [notReady('Unsupported', problem)] })
    return undefined
  }
  let repository: PackageRepository | undefined
  const during = AbortSignal.any([signal, repositories.stopping])
  const served = (): StatusFields | undefined => counts(repositories.get(key))
  const late = new LateNotice({ context, clock: manager.clock, served }, 'the PackageRevs are not listed yet')
  try {
    // Without its state, a revision would be served without its labels, owners and finalizers.
    await abortable(states.load(), during)
    late.waitsFor(unread(object, repositories.gitTimeout))
    repository = await repositories.open(object, during)
    const rewritten = await repository.sync(during, object.status?.packageCount)
    await late.end()
    if (rewritten !== undefined)
      context.events.warning('BranchRewritten', rewrittenMessage(repository, rewritten), { action: 'Sync' })
  } catch (error) {
    await late.end()
    signal.throwIfAborted()
    if (repositories.stopping.aborted) return undefined
    const isStateUnknown = error instanceof StatusError && repository === undefined
    const code = isStateUnknown ? 'StateUnknown' : error instanceof GitError ? error.code : 'Closed'
    if (code === 'Closed') throw error
    const { lastFullSyncTime } = object.status ?? {}
    const { message } = error as Error
    await status.apply({
      ...counts(repository),
      ...(lastFullSyncTime !== undefined && { lastFullSyncTime }),
      conditions: [notReady(code, message)],
    })
    throw isStateUnknown ? error : new RemoteError(code, message, { cause: error })
  } finally {
    repositories.attempted(key)
  }
  const now = manager.clock.now()
  const next = nextSync(object, now, manager.random())
  const { runOnceAt } = object.spec?.sync ?? {}
  await status.apply({
    ...counts(repository),
    lastFullSyncTime: formatTime(now),
    ...(next !== undefined && { nextFullSyncTime: formatTime(next) }),
    ...(runOnceAt !== undefined && Date.parse(runOnceAt) <= now && { observedRunOnceAt: runOnceAt }),
    conditions: [ready(repository)],
  })
  await states.prune(repository.settings, repository.revisions)
  return next === undefined ? undefined : after(next - now)
}

/** Returns when a repository is read again, in milliseconds since the epoch. A managed one has no other writer. */
function nextSync({ spec, status }: Repository, now: number, random: number): number | undefined {
  const schedule = spec?.sync?.schedule === undefined ? undefined : parseCron(spec.sync.schedule)
  const polled = spec?.git?.repo === undefined ? undefined : now + pollInterval * (1 + random / 10)
  const regular = schedule === undefined ? polled : nextTime(schedule, now)
  const once = spec?.sync?.runOnceAt
  if (once === undefined || once === status?.observedRunOnceAt || Date.parse(once) <= now) return regular
  return Math.min(Date.parse(once), regular ?? Infinity)
}

function unsupported({ spec }: Repository): string | undefined {
  if (spec?.type !== undefined && spec.type !== 'git')
    return `spec.type is ${spec.type}; only git repositories are supported. Push the packages to a git repository.`
  if (spec?.sync?.schedule !== undefined && parseCron(spec.sync.schedule) === undefined)
    return `spec.sync.schedule ${JSON.stringify(spec.sync.schedule)} is no cron schedule with five fields`
  return undefined
}

/** Returns what a read waits for once git was started. */
function unread({ spec }: Repository, timeout: number): string {
  const { repo } = spec?.git ?? {}
  if (repo === undefined) return 'git has not read the repository yet'
  return `git has not read ${withoutCredentials(repo)} yet; it is given up after ${timeout / 1000} s`
}

/** Returns the counts of a repository; undefined for one that was never read. */
function counts(repository: PackageRepository | undefined): StatusFields | undefined {
  if (repository?.isSynced !== true) return undefined
  return {
    packageCount: repository.revisions.size,
    ...(repository.head !== undefined && { gitCommitHash: repository.head }),
  }
}

function ready({ unusable }: PackageRepository): Condition {
  const [first] = unusable
  const more = unusable.size > 1 ? ` and ${unusable.size - 1} more` : ''
  return condition('Ready', true, {
    reason: 'Ready',
    message:
      first === undefined
        ? 'Repository Ready'
        : `Repository Ready; not served, as no valid object name can be made of them: ${first}${more}`,
  })
}

function rewrittenMessage({ settings, head }: PackageRepository, before: string): string {
  return `The branch ${settings.branch} was force-pushed: ${before} is not part of ${head ?? 'it'} any more. Published revisions stay as long as their tags do.`
}

function notReady(reason: string, message: string): Condition {
  return condition('Ready', false, { reason, message })
}
