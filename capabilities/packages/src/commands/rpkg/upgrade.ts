// `fairlead rpkg upgrade`: creates a revision with the changes of the upstream, or lists available updates.
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError } from '@fairlead/offline/command-error'
import { PackageRevisionKind, porchGroup, upstreamMergedCondition } from '../../api.ts'
import type { PackageRevision } from '../../api.ts'
import { isPublished } from '../../engine/lifecycle.ts'
import type { ConflictPolicy } from '../../engine/merge3/conflict.ts'
import { aligned } from '../output.ts'
import { withPorchErrors } from '../porch-errors.ts'

interface Options {
  readonly namespace: string | undefined
  readonly workspace: string | undefined
  readonly revision: string | undefined
  readonly strategy: string
  readonly onConflict: ConflictPolicy
  readonly discover: string | undefined
}

/** Runs the command. */
export function run(context: CommandContext<Options, { readonly revisions: readonly string[] }>): Promise<number> {
  return withPorchErrors(context, async () => {
    const { options, out } = context
    const names = context.arguments.revisions
    const client = await context.client()
    const namespace = options.namespace ?? client.namespace
    const { items } = await client.list(PackageRevisionKind, { namespace })
    if (options.discover === 'upstream') return out(upstreamUpdates(items, names))
    if (options.discover === 'downstream') return out(downstreamUpdates(items, names))
    const [name] = names
    if (name === undefined) throw new CommandError('SOURCE_PACKAGE_REVISION is a required positional argument')
    if (names.length > 1)
      throw new CommandError('too many arguments; SOURCE_PACKAGE_REVISION is the only accepted positional arguments')
    const created = await upgrade(client, items, find(items, name), options)
    out(`${name} upgraded to ${created.metadata.name}`)
    const merged = created.status?.conditions?.find(({ type }) => type === upstreamMergedCondition)
    if (merged?.status === 'False') context.err(`Warning: ${merged.message}`)
  })
}

async function upgrade(
  client: Client,
  all: readonly PackageRevision[],
  local: PackageRevision,
  { workspace, revision, strategy, onConflict }: Options,
): Promise<PackageRevision> {
  if (workspace === undefined) throw new CommandError('workspace is required')
  if (!isPublished(local.spec.lifecycle ?? ''))
    throw new CommandError(`to upgrade a package, it must be in a published state, not "${local.spec.lifecycle}"`)
  const oldName = upstreamName(all, local)
  if (oldName === undefined)
    throw new CommandError(
      `upstream source not found for package revision "${local.spec.packageName}": no clone or upgrade type package revision was found in the history of the package`,
    )
  const old = all.find(({ metadata }) => metadata.name === oldName)
  if (old === undefined) throw new CommandError(`upstream package revision ${oldName} no longer exists`)
  const candidates = published(all, old.spec.repository, old.spec.packageName)
  const wanted = revision === undefined ? undefined : Number(revision)
  const next =
    wanted === undefined || wanted === 0
      ? candidates.at(-1)
      : candidates.find(({ spec }) => Number(spec.revision) === wanted)
  if (next === undefined)
    throw new CommandError(
      `revision ${revision ?? 0} does not exist for package ${old.spec.packageName} in repo ${old.spec.repository}`,
    )
  const task = {
    type: 'upgrade',
    upgrade: {
      oldUpstreamRef: { name: oldName },
      newUpstreamRef: { name: next.metadata.name! },
      localPackageRevisionRef: { name: local.metadata.name! },
      strategy,
      ...(onConflict !== 'upstream' && { onConflict }),
    },
  }
  const { packageName, repository } = local.spec
  return client.create<PackageRevision>({
    apiVersion: `${porchGroup}/v1alpha1`,
    kind: 'PackageRevision',
    metadata: { namespace: local.metadata.namespace! },
    spec: { packageName, repository, workspaceName: workspace, tasks: [task] },
  })
}

/** Returns the upstream of a revision, by its task or those of the revisions that it was copied from. */
function upstreamName(all: readonly PackageRevision[], revision: PackageRevision): string | undefined {
  for (let current: PackageRevision | undefined = revision, steps = 0; current !== undefined; steps++) {
    const task: NonNullable<PackageRevision['spec']['tasks']>[number] | undefined = current.spec.tasks?.[0]
    const name = task?.upgrade?.newUpstreamRef?.name ?? task?.clone?.upstreamRef?.upstreamRef?.name
    if (name !== undefined || steps > all.length) return name
    const source: string | undefined = task?.edit?.sourceRef?.name
    current = source === undefined ? undefined : all.find(({ metadata }) => metadata.name === source)
  }
  return undefined
}

interface Update {
  readonly downstream: PackageRevision
  readonly repository: string
  /** Newer revisions of the upstream, the oldest first. */
  readonly available: readonly PackageRevision[]
  readonly current: string
}

/** Returns what the upstream of a revision offers; undefined for a revision without a registered upstream. */
function updateOf(all: readonly PackageRevision[], downstream: PackageRevision): Update | undefined {
  const lock = downstream.status?.upstreamLock?.git
  if (lock === undefined) return undefined
  const upstreams = all.filter(({ spec, status }) => {
    const own = status?.selfLock?.git
    return (
      isPublished(spec.lifecycle ?? '') &&
      Number(spec.revision ?? 0) > 0 &&
      own?.directory === lock.directory?.replace(/^\/+|\/+$/g, '') &&
      address(own?.repo) === address(lock.repo)
    )
  })
  const [first] = upstreams
  if (first === undefined) return undefined
  const version = lock.ref?.split('/').at(-1) ?? ''
  const isDraft = lock.ref?.startsWith('drafts/') === true
  const current = isDraft ? 0 : Number(/^v?(\d+)$/.exec(version)?.[1] ?? -1)
  const available = published(all, first.spec.repository, first.spec.packageName).filter(
    ({ spec }) => Number(spec.revision) > current,
  )
  return {
    downstream,
    repository: first.spec.repository,
    available,
    current: isDraft ? `(draft "${version}")` : version,
  }
}

function upstreamUpdates(all: readonly PackageRevision[], names: readonly string[]): string {
  const wanted = names.length === 0 ? all : names.map((name) => find(all, name))
  const rows = wanted.map((revision) => {
    const update = updateOf(all, revision)
    const versions = update?.available.map(({ spec }) => `v${spec.revision}`).join(', ') ?? ''
    return [revision.metadata.name!, update?.repository ?? '', versions === '' ? 'No update available' : versions]
  })
  return aligned([['PACKAGE REVISION', 'UPSTREAM REPOSITORY', 'UPSTREAM UPDATES'], ...rows])
}

function downstreamUpdates(all: readonly PackageRevision[], names: readonly string[]): string {
  const rows = all.flatMap((revision) => {
    const update = updateOf(all, revision)
    return (update?.available ?? [])
      .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name!))
      .map(({ metadata, spec }) => [metadata.name!, revision.metadata.name!, `${update!.current}->v${spec.revision}`])
  })
  if (rows.length === 0) return 'All downstream packages are up to date.\n'
  return aligned([['PACKAGE REVISION', 'DOWNSTREAM PACKAGE', 'DOWNSTREAM UPDATE'], ...rows])
}

function published(all: readonly PackageRevision[], repository: string, packageName: string): PackageRevision[] {
  return all
    .filter(({ spec }) => spec.repository === repository && spec.packageName === packageName)
    .filter(({ spec }) => isPublished(spec.lifecycle ?? '') && Number(spec.revision ?? 0) > 0)
    .sort((a, b) => Number(a.spec.revision) - Number(b.spec.revision))
}

function find(all: readonly PackageRevision[], name: string): PackageRevision {
  const found = all.find(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new CommandError(`could not find package revision ${name}`)
  return found
}

function address(repo: string | undefined): string {
  return (repo ?? '').replace(/\.git$/, '')
}
