// `fairlead generate check`: fails when what is committed is out of date, or when a CRD breaks what was valid before.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CommandContext } from '@fairlead/controller/command'
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { exitCode, usageError } from '@fairlead/offline'
import { breakingChanges } from '../generator/crd-compat.ts'
import { filesOf } from '../generator/files.ts'
import { generatedBy } from './generator-input.ts'
import type { GeneratorOptions } from './generator-input.ts'

/** Options of the command. */
export interface GenerateCheckOptions extends GeneratorOptions {
  readonly base: string | undefined
}

const execute = promisify(execFile)

/** Prints every file that is out of date and every breaking change. Exit code 1 when there is one. */
export async function run(context: CommandContext<GenerateCheckOptions, object>): Promise<number> {
  const { options, out } = context
  const made = await generatedBy(context)
  const problems: string[] = []
  const files = filesOf(made)
  for (const { path, text, isOwn } of files) {
    const target = join(options.out, path)
    if (!existsSync(target)) problems.push(`out-of-date: ${path}: is missing; run fairlead generate crds`)
    else if (isOwn !== true && readFileSync(target, 'utf8') !== text)
      problems.push(`out-of-date: ${path}: differs from what is generated; run fairlead generate crds`)
  }
  const known = new Set(files.map(({ path }) => path))
  for (const path of crdFiles(options.out))
    if (!known.has(path)) problems.push(`out-of-date: ${path}: is no longer generated; remove it`)
  const after = new Map(made.kinds.map(({ crd }) => [crd.metadata.name, crd]))
  for (const before of await committed(options))
    for (const { definition, at, message } of breakingChanges(before, after.get(before.metadata.name)))
      problems.push(`crd-compat: ${definition}: ${at === '' ? '' : `${at}: `}${message}`)
  for (const problem of problems) out(problem)
  if (problems.length === 0) out(`${made.group}: everything is up to date, and no CRD breaks what was valid before`)
  return problems.length === 0 ? exitCode.ok : exitCode.error
}

function crdFiles(folder: string): readonly string[] {
  const crds = join(folder, 'crds')
  if (!existsSync(crds)) return []
  return readdirSync(crds)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => `crds/${name}`)
}

/** Returns the CRDs of the base revision, or those on the disk where the folder is in no git repository. */
async function committed({ base, out }: GenerateCheckOptions): Promise<readonly KubeObject[]> {
  const inGit = existsSync(out) && (await git(out, 'rev-parse', '--is-inside-work-tree')) !== undefined
  if (!inGit) {
    if (base !== undefined) throw usageError(`--base ${base}: ${out} is in no git repository`)
    return crdFiles(out).flatMap((path) => definitions(readFileSync(join(out, path), 'utf8')))
  }
  const commit = await git(out, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${base ?? 'HEAD'}^{commit}`)
  if (commit === undefined) {
    if (base !== undefined) throw usageError(`--base ${base}: there is no such revision`)
    // A repository without a commit has nothing that could break.
    return []
  }
  const listed = await git(out, 'ls-tree', '--name-only', '-z', commit.trim(), 'crds/')
  const paths = (listed ?? '').split('\0').filter((path) => path.endsWith('.yaml'))
  const texts = await Promise.all(paths.map((path) => git(out, 'show', `${commit.trim()}:./${path}`)))
  return texts.flatMap((text) => definitions(text ?? ''))
}

function definitions(text: string): readonly KubeObject[] {
  const objects = parseYamlDocuments(text) as unknown as readonly (KubeObject | null)[]
  return objects.filter((object) => object?.kind === 'CustomResourceDefinition') as readonly KubeObject[]
}

/** Returns the output of git in a folder, undefined when it fails. */
async function git(folder: string, ...args: readonly string[]): Promise<string | undefined> {
  try {
    return (await execute('git', ['-C', folder, ...args], { maxBuffer: 1 << 28 })).stdout
  } catch {
    return undefined
  }
}
