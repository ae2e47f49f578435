// `fairlead pkg init`: makes a package of a folder.
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, exitCode } from '@fairlead/offline'
import { fileChanges, formatChanges } from '../engine/diff/file-changes.ts'
import { newPackageFiles } from '../engine/new-package.ts'
import { writeChanges } from '../offline/package-folder.ts'

interface Options {
  readonly description: string
  readonly keywords: string | undefined
  readonly site: string | undefined
  readonly dryRun: boolean
}

interface Arguments {
  readonly folder: string | undefined
}

/** Writes the files of a new package; those that exist stay. The folder may be new. */
export async function run({
  arguments: { folder = '.' },
  options,
  out,
}: CommandContext<Options, Arguments>): Promise<number> {
  if (existsSync(join(folder, 'Kptfile'))) throw new CommandError(`${folder} is a package already: it has a Kptfile`)
  const keywords = (options.keywords ?? '').split(',').filter((word) => word !== '')
  const { description, site } = options
  const fresh = newPackageFiles({ name: basename(resolve(folder)), description, keywords, site })
  const changes = fileChanges(new Map(), fresh).filter(({ path }) => !existsSync(join(folder, path)))
  if (options.dryRun) out(formatChanges(changes).trimEnd())
  else {
    await writeChanges(folder, changes)
    for (const { path } of changes) out(`writing ${join(folder, path)}`)
  }
  return exitCode.ok
}
