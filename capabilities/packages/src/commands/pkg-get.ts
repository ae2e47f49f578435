// `fairlead pkg get`: fetches a package into a folder.
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, exitCode } from '@fairlead/offline'
import { fileChanges, formatChanges } from '../engine/diff/file-changes.ts'
import { emptyKptfile, withUpstream } from '../engine/kptfile/upstream.ts'
import { withPackageContext } from '../engine/package-context.ts'
import { addMergeComments } from '../engine/update/merge-comments.ts'
import { fetchUpstream } from '../offline/fetch-upstream.ts'
import { writeChanges } from '../offline/package-folder.ts'
import { parseUpstreamAddress } from '../offline/upstream-address.ts'

interface Options {
  readonly strategy: string
  readonly forDeployment: boolean
  readonly dryRun: boolean
}

interface Arguments {
  readonly address: string
  readonly destination: string | undefined
}

/** Writes the package with upstream, lock and merge comments. The folder must be new. */
export async function run({
  arguments: { address, destination },
  options,
  out,
  signal,
}: CommandContext<Options, Arguments>): Promise<number> {
  const upstream = parseUpstreamAddress(address)
  const folder = destinationOf(
    destination,
    basename(upstream.directory) || basename(upstream.repo).replace(/\.git$/, ''),
  )
  const name = basename(resolve(folder))
  const { commit, files, ref } = await fetchUpstream(upstream, signal)
  const git = { repo: upstream.repo, directory: upstream.directory, ref }
  const kptfile = withUpstream(
    String(files.get('Kptfile') ?? emptyKptfile),
    { git, commit, updateStrategy: options.strategy },
    name,
  )
  const named = new Map([...addMergeComments(files, { annotate: true }), ['Kptfile', kptfile] as const])
  const changes = fileChanges(new Map(), options.forDeployment ? withPackageContext(named, { name }) : named)
  if (options.dryRun) {
    out(formatChanges(changes).trimEnd())
    return exitCode.ok
  }
  await writeChanges(folder, changes)
  out(
    `Fetched package "${name}" from ${upstream.repo} at ${ref} (${commit.slice(0, 12)}): ${changes.length} files in ${folder}`,
  )
  return exitCode.ok
}

/** A destination that exists gets the package as a folder in it, as with cp. */
function destinationOf(destination: string | undefined, name: string): string {
  const folder = destination === undefined ? name : existsSync(destination) ? join(destination, name) : destination
  if (existsSync(folder))
    throw new CommandError(`${folder} exists already; name another destination or update the package`)
  return folder
}
