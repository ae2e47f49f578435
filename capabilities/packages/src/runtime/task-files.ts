// The files that a task makes: of a new package, a clone, a copy, or a package with the changes of its upstream.
import { badRequest } from '@fairlead/kube'
import type { Lock, Task } from '../api.ts'
import { parseKptfile } from '../engine/kptfile/kptfile.ts'
import { isPublished } from '../engine/lifecycle.ts'
import { newPackageFiles } from '../engine/new-package.ts'
import { withPackageContext } from '../engine/package-context.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { conflictReport } from '../engine/merge3/conflict-report.ts'
import type { ConflictReport } from '../engine/merge3/conflict-report.ts'
import { addMergeComments } from '../engine/update/merge-comments.ts'
import type { UpdateStrategy } from '../engine/update/update-package.ts'
import { selfLock } from './revision-object.ts'
import { withUpstream } from './kptfile-edits.ts'
import type { PackageEngine } from './package-engine.ts'
import type { PackageRepository } from './package-repository.ts'
import { placeholder } from './revision.ts'
import type { Located } from './repositories.ts'
import type { TaskSources } from './task-sources.ts'

/** The parts that a task needs to be carried out. */
export interface TaskContext {
  readonly repository: PackageRepository
  readonly packageName: string
  readonly engine: PackageEngine
  readonly signal: AbortSignal
  readonly sources: TaskSources
}

interface Upstream {
  readonly files: PackageFiles
  /** Paths of the files that can be executed. */
  readonly executables: ReadonlySet<string>
  readonly lock: Lock
}

/** The files that a task makes. */
export interface TaskFiles {
  readonly files: PackageFiles
  /** Paths of the files that can be executed; none when left out. */
  readonly executables?: ReadonlySet<string>
  /** Of an upgrade. */
  readonly merge?: ConflictReport
}

/** Returns the files of a task. @throws StatusError 400, 403, 404; GitError; PackageError */
export async function taskFiles(task: Task, context: TaskContext): Promise<TaskFiles> {
  switch (task.type) {
    case 'init':
      return { files: newPackageFiles({ name: context.packageName.split('/').at(-1)!, ...task.init }) }
    case 'clone': {
      const upstream = await cloneSource(task, context)
      return { files: cloned(upstream, context), executables: upstream.executables }
    }
    case 'edit':
      return copied(task, context)
    case 'upgrade':
      return upgraded(task, context)
    default:
      throw badRequest(`task type ${JSON.stringify(task.type)} is not supported: use init, clone, edit or upgrade`)
  }
}

async function cloneSource(task: Task, context: TaskContext): Promise<Upstream> {
  const source = task.clone?.upstreamRef
  if (source?.upstreamRef?.name !== undefined && source.upstreamRef.name !== '')
    return upstreamOf(await context.sources.revision(source.upstreamRef, 'clone.upstreamRef.upstreamRef'))
  const git = source?.git
  if (git === undefined) throw badRequest('spec.tasks[0].clone.upstreamRef names neither a revision nor a git package')
  const { commit, files, executables } = await context.sources.fetch(git)
  const { repo, directory, ref } = git
  return { files, executables, lock: { type: 'git', git: { repo, directory, ref, commit } } }
}

async function upstreamOf({ repository, revision }: Located): Promise<Upstream> {
  if (revision.revision === placeholder)
    throw badRequest(`${revision.name} is the content of a branch; name a published revision`)
  const [files, executables] = [await repository.files(revision), await repository.executables(revision)]
  return { files, executables, lock: selfLock(repository, revision) }
}

function cloned({ files, lock }: Upstream, { repository, packageName }: TaskContext): PackageFiles {
  const name = packageName.split('/').at(-1)!
  const result = new Map(addMergeComments(files, { annotate: true }))
  result.set('Kptfile', withUpstream(kptfileIn(files, lock.git?.directory ?? ''), lock, name))
  return repository.settings.deployment ? withPackageContext(result, { name, path: packageName }) : result
}

async function copied(task: Task, context: TaskContext): Promise<TaskFiles> {
  const { repository, revision } = await context.sources.revision(task.edit?.sourceRef, 'edit.sourceRef')
  if (!isPublished(revision.lifecycle)) throw badRequest(`source revision must be published`)
  if (revision.packageName !== context.packageName || repository !== context.repository)
    throw badRequest(
      `source revision must be from same package ${repository.settings.repository}/${revision.packageName}`,
    )
  return { files: await repository.files(revision), executables: await repository.executables(revision) }
}

async function upgraded(task: Task, context: TaskContext): Promise<TaskFiles> {
  const { oldUpstreamRef, newUpstreamRef, localPackageRevisionRef, onConflict } = task.upgrade ?? {}
  const strategy = (task.upgrade?.strategy ?? 'resource-merge') as UpdateStrategy
  const upstream = await upstreamOf(await context.sources.revision(newUpstreamRef, 'upgrade.newUpstreamRef'))
  const source = await context.sources.revision(localPackageRevisionRef, 'upgrade.localPackageRevisionRef')
  const local = await source.repository.files(source.revision)
  // The base is what was cloned, wherever the tag of the old revision points now.
  const lock = parseKptfile(kptfileIn(local, source.revision.name)).upstreamLock
  const base =
    (lock === undefined ? undefined : await context.sources.filesAt(lock)) ??
    (await upstreamOf(await context.sources.revision(oldUpstreamRef, 'upgrade.oldUpstreamRef'))).files
  const updated = await context.engine.update(
    { base, upstream: upstream.files, local, strategy, onConflict },
    context.signal,
  )
  const { files } = updated
  const result = new Map(files)
  const name = parseKptfile(kptfileIn(local, source.revision.name)).metadata.name ?? context.packageName
  result.set('Kptfile', withUpstream(kptfileIn(files, source.revision.name), upstream.lock, name))
  const own = await source.repository.executables(source.revision)
  return { files: result, executables: upstream.executables.union(own), merge: conflictReport(updated) }
}

function kptfileIn(files: PackageFiles, place: string): string {
  const kptfile = files.get('Kptfile')
  if (typeof kptfile !== 'string') throw badRequest(`${place} is no package: it has no Kptfile`)
  return kptfile
}
