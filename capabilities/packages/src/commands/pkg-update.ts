// `fairlead pkg update`: merges the changes of upstream into a package.
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, exitCode } from '@fairlead/offline'
import { fileChanges, formatChanges } from '../engine/diff/file-changes.ts'
import { withUpstream } from '../engine/kptfile/upstream.ts'
import type { ConflictPolicy } from '../engine/merge3/conflict.ts'
import { describeConflict } from '../engine/merge3/conflict.ts'
import { hasMutators } from '../engine/render/pipeline-source.ts'
import type { RenderedUpdate } from '../engine/update/rendered-update.ts'
import type { PackageUpdate, UpdateStrategy } from '../engine/update/update-package.ts'
import { updatePackage, updateStrategies } from '../engine/update/update-package.ts'
import { fetchUpstream } from '../offline/fetch-upstream.ts'
import { readLocalPackage } from '../offline/local-package.ts'
import { writeChanges } from '../offline/package-folder.ts'
import { PackageRenderer } from '../runtime/functions/package-renderer.ts'

interface Options {
  readonly strategy: string | undefined
  readonly onConflict: string
  readonly dryRun: boolean
}

interface Arguments {
  readonly package: string | undefined
}

/** Updates the package; conflicts go to standard error. Nothing is written when anything fails. */
export async function run({
  arguments: { package: reference },
  options,
  out,
  err,
  signal,
}: CommandContext<Options, Arguments>): Promise<number> {
  const { folder, files, git, kptfile, lockedCommit } = await readLocalPackage(reference)
  const strategy = strategyOf(options.strategy ?? kptfile.upstream?.updateStrategy ?? 'resource-merge')
  const upstream = await fetchUpstream(git, signal)
  const locked = kptfile.upstreamLock?.git
  const base = await fetchUpstream(
    { repo: locked?.repo ?? git.repo, directory: locked?.directory ?? git.directory, ref: lockedCommit },
    signal,
  )
  const onConflict = options.onConflict as ConflictPolicy
  const versions = { base: base.files, upstream: upstream.files, local: files }
  const updated = await update({ ...versions, strategy, onConflict, annotate: true }, signal)
  const merged = String(updated.files.get('Kptfile'))
  const withLock = withUpstream(merged, { git, commit: upstream.commit, updateStrategy: strategy })
  const changes = fileChanges(files, new Map([...updated.files, ['Kptfile', withLock]]))
  for (const conflict of updated.conflicts) err(`conflict, ${conflict.taken} taken: ${describeConflict(conflict)}`)
  if (updated.unrendered !== undefined)
    err(`compared without running the functions, which failed on ${updated.unrendered}`)
  if (options.dryRun) {
    if (changes.length > 0) out(formatChanges(changes).trimEnd())
    return exitCode.ok
  }
  await writeChanges(folder, changes)
  const { length } = updated.conflicts
  const conflicts = length === 0 ? 'no conflicts' : length === 1 ? '1 conflict' : `${length} conflicts`
  out(
    `Updated package "${kptfile.metadata.name ?? folder}" to ${git.ref} (${upstream.commit.slice(0, 12)}): ${changes.length} files changed, ${conflicts}`,
  )
  return exitCode.ok
}

/** Starts a thread only for a package with functions. */
async function update(versions: PackageUpdate, signal: AbortSignal): Promise<RenderedUpdate> {
  if (!hasMutators(versions.local)) return updatePackage(versions)
  await using renderer = new PackageRenderer({ workers: 1 })
  return await renderer.update(versions, { signal })
}

function strategyOf(name: string): UpdateStrategy {
  const found = updateStrategies.find((strategy) => strategy === name)
  if (found === undefined)
    throw new CommandError(`unknown update strategy "${name}" in the Kptfile; there are ${updateStrategies.join(', ')}`)
  return found
}
