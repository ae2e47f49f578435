// `fairlead pkg render`: runs the pipelines of a package and of the packages below it.
import { basename, relative, resolve } from 'node:path'
import { realpath } from 'node:fs/promises'
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode } from '@fairlead/offline'
import { alreadyHandled } from '../engine/render/render-error.ts'
import { fileChanges } from '../engine/diff/file-changes.ts'
import { readPackageFolder, writeChanges } from '../offline/package-folder.ts'
import type { PullPolicy } from '../runtime/functions/container-engine.ts'
import { PackageRenderer } from '../runtime/functions/package-renderer.ts'
import { requireAbsent, resourceOutput, writeResults } from './function-output.ts'
import { formatFailure } from './render-failure.ts'
import { renderLog } from './render-log.ts'

/** Options of the command. */
export interface RenderFlags {
  readonly output: string | undefined
  readonly resultsDir: string | undefined
  readonly allowExec: boolean
  readonly imagePrefix: string | undefined
  readonly imagePullPolicy: string
}

/** Renders a package in place, or to another place. Exit code 1 when it fails. */
export async function run(
  context: CommandContext<RenderFlags, { readonly folder: string | undefined }>,
): Promise<number> {
  const pullPolicy = context.options.imagePullPolicy as PullPolicy
  await using renderer = new PackageRenderer({ workers: 1, containers: true, pullPolicy })
  return await runWith(renderer, context)
}

/** Renders with a renderer that is there. @param writesStatus writes the outcome into the Kptfile */
export async function runWith(
  renderer: PackageRenderer,
  {
    arguments: { folder: named = '.' },
    options: { output, resultsDir, allowExec, imagePrefix },
    out,
    err,
    signal,
  }: CommandContext<RenderFlags, { readonly folder: string | undefined }>,
  { writesStatus = true }: { readonly writesStatus?: boolean } = {},
): Promise<number> {
  await requireAbsent(output)
  const folder = await realpath(named).catch(() => named)
  if (folder !== resolve(named))
    err(
      `[WARN] resolved symlink ${JSON.stringify(named)} to ${JSON.stringify(relative('.', folder) || '.')}, please note that the symlinks within the package are ignored`,
    )
  const files = await readPackageFolder(folder, { links: 'skip' })
  const resources = resourceOutput(output)
  const rootName = basename(resolve(folder))
  const result = await renderer.run(
    {
      type: 'render',
      files,
      allowExec,
      writesStatus: writesStatus && output === undefined,
      ...(imagePrefix !== undefined && { imagePrefix }),
      ...(resources !== undefined && { output: resources }),
    },
    { signal, onEvent: renderLog(err, { rootName, now: () => systemClock.now() }) },
  )
  const { error, packages, functions } = result
  if (output === undefined) await writeChanges(folder, fileChanges(files, result.files))
  else if (error === undefined && resources === 'files')
    await writeChanges(output, fileChanges(new Map(), result.files))
  if (error === undefined && result.resources !== undefined) out(result.resources.replace(/\n$/, ''))
  if (output === undefined && error === undefined)
    err(`Successfully executed ${functions} function(s) in ${packages} package(s).`)
  if (resultsDir !== undefined) err(`For complete results, see ${await writeResults(resultsDir, result.results)}`)
  if (error === undefined) return exitCode.ok
  if (error.message !== alreadyHandled) err(`Error: ${formatFailure(error, rootName)}`)
  return exitCode.error
}
