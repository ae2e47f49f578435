// `fairlead pkg diff`: compares a package with its upstream.
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode } from '@fairlead/offline'
import { fileChanges, formatChanges } from '../engine/diff/file-changes.ts'
import { withoutOwnFields } from '../engine/kptfile/upstream.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { addMergeComments } from '../engine/update/merge-comments.ts'
import { fetchUpstream } from '../offline/fetch-upstream.ts'
import { readLocalPackage } from '../offline/local-package.ts'

interface Options {
  readonly diffType: string
}

interface Arguments {
  readonly package: string | undefined
}

/** Prints patches. What every fetched package differs in (lock, merge comments) is left out. */
export async function run({
  arguments: { package: reference },
  options: { diffType },
  out,
  signal,
}: CommandContext<Options, Arguments>): Promise<number> {
  const { files, git, kptfile, lockedCommit } = await readLocalPackage(reference)
  const locked = { repo: git.repo, directory: git.directory, ...kptfile.upstreamLock?.git, ref: lockedCommit }
  const local = comparable(files)
  const fetched = async (address: Parameters<typeof fetchUpstream>[0]): Promise<PackageFiles> =>
    comparable((await fetchUpstream(address, signal)).files)
  const print = (before: PackageFiles, after: PackageFiles, names: { before: string; after: string }): void => {
    const patch = formatChanges(fileChanges(before, after), names)
    if (patch !== '') out(patch.trimEnd())
  }
  if (diffType === 'combined') {
    print(await fetched(git), local, { before: `upstream-${git.ref}`, after: 'local' })
    return exitCode.ok
  }
  const base = await fetched(locked)
  const short = lockedCommit.slice(0, 12)
  if (diffType !== 'remote') print(base, local, { before: `base-${short}`, after: 'local' })
  if (diffType !== 'local') print(base, await fetched(git), { before: `base-${short}`, after: `upstream-${git.ref}` })
  return exitCode.ok
}

function comparable(files: PackageFiles): PackageFiles {
  const out = new Map(addMergeComments(files, { annotate: true }))
  const kptfile = out.get('Kptfile')
  if (typeof kptfile === 'string') out.set('Kptfile', withoutOwnFields(kptfile))
  return out
}
