// `fairlead pkg eval`: runs one function on a folder of resources.
import { readFile, realpath } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, exitCode, usageError } from '@fairlead/offline'
import type { PackageFiles } from '../engine/package-files.ts'
import type { KptFunction, Selector } from '../engine/kptfile/kptfile.ts'
import { alreadyHandled } from '../engine/render/render-error.ts'
import { fileChanges } from '../engine/diff/file-changes.ts'
import { readPackageFolder, writeChanges } from '../offline/package-folder.ts'
import type { PullPolicy } from '../runtime/functions/container-engine.ts'
import { PackageRenderer } from '../runtime/functions/package-renderer.ts'
import { requireAbsent, resourceOutput, writeResults } from './function-output.ts'
import type { RenderFlags } from './pkg-render.ts'
import { renderLog } from './render-log.ts'

/** Options of the command. */
export interface EvalFlags extends Omit<RenderFlags, 'allowExec'> {
  readonly image: string | undefined
  readonly exec: string | undefined
  readonly fnConfig: string | undefined
  readonly matchApiVersion: string | undefined
  readonly matchKind: string | undefined
  readonly matchName: string | undefined
  readonly matchNamespace: string | undefined
  readonly excludeApiVersion: string | undefined
  readonly excludeKind: string | undefined
  readonly excludeName: string | undefined
  readonly excludeNamespace: string | undefined
}

type EvalContext = CommandContext<EvalFlags, { readonly folder: string | undefined; readonly data: readonly string[] }>

/** Runs the function. Exit code 1 when it fails. */
export async function run(context: EvalContext): Promise<number> {
  const pullPolicy = context.options.imagePullPolicy as PullPolicy
  await using renderer = new PackageRenderer({ workers: 1, containers: true, pullPolicy })
  return await runWith(renderer, context)
}

/** Runs the function with a renderer that is there. */
export async function runWith(
  renderer: PackageRenderer,
  { arguments: { folder: named = '.', data }, options, out, err, stdin, signal }: EvalContext,
): Promise<number> {
  const { output, resultsDir, imagePrefix, fnConfig } = options
  await requireAbsent(output)
  const isList = named === '-'
  const folder = isList ? '.' : await realpath(named).catch(() => named)
  const files: PackageFiles = isList ? new Map() : await readPackageFolder(folder, { links: 'skip' })
  const resources = isList ? (resourceOutput(output) ?? 'list') : resourceOutput(output)
  const result = await renderer.run(
    {
      type: 'evaluate',
      files,
      // The flag names the program: that is the permission.
      allowExec: true,
      step: stepOf(options, data),
      ...(isList && { list: await stdin() }),
      ...(fnConfig !== undefined && (await configOf(fnConfig, folder))),
      ...(imagePrefix !== undefined && { imagePrefix }),
      ...(resources !== undefined && { output: resources }),
    },
    { signal, onEvent: renderLog(err, { now: () => systemClock.now() }) },
  )
  const { error } = result
  if (error === undefined && output === undefined && !isList)
    await writeChanges(folder, fileChanges(files, result.files))
  else if (error === undefined && output !== undefined && resources === 'files')
    await writeChanges(output, fileChanges(new Map(), result.files))
  if (error === undefined && result.resources !== undefined) out(result.resources.replace(/\n$/, ''))
  if (resultsDir !== undefined) err(`For complete results, see ${await writeResults(resultsDir, result.results)}`)
  if (error === undefined) return exitCode.ok
  if (error.message !== alreadyHandled) err(`Error: ${error.message}`)
  return exitCode.error
}

function stepOf(options: EvalFlags, data: readonly string[]): KptFunction {
  const { image, exec, fnConfig } = options
  if ((image === undefined) === (exec === undefined)) throw usageError('Name the function: --image or --exec')
  const pairs = data.map((pair): [string, string] => {
    const index = pair.indexOf('=')
    if (index < 1) throw usageError(`${pair} is no KEY=VALUE`)
    return [pair.slice(0, index), pair.slice(index + 1)]
  })
  if (pairs.length > 0 && fnConfig !== undefined)
    throw usageError('function arguments can only be specified without function config file')
  const selector = nonEmpty({
    apiVersion: options.matchApiVersion,
    kind: options.matchKind,
    name: options.matchName,
    namespace: options.matchNamespace,
  })
  const exclusion = nonEmpty({
    apiVersion: options.excludeApiVersion,
    kind: options.excludeKind,
    name: options.excludeName,
    namespace: options.excludeNamespace,
  })
  return {
    ...(image !== undefined && { image }),
    ...(exec !== undefined && { exec }),
    ...(pairs.length > 0 && { configMap: Object.fromEntries(pairs) }),
    ...(selector !== undefined && { selectors: [selector] }),
    ...(exclusion !== undefined && { exclude: [exclusion] }),
  }
}

function nonEmpty(fields: Readonly<Record<string, string | undefined>>): Selector | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

async function configOf(path: string, folder: string): Promise<{ config: string; configFile?: string }> {
  const config = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`missing function config ${JSON.stringify(path)}: ${(error as Error).message}`)
  })
  const below = relative(resolve(folder), resolve(path))
  return below.startsWith('..') ? { config } : { config, configFile: below.split(sep).join('/') }
}
