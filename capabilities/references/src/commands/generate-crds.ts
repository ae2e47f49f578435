// `fairlead generate crds`: writes the CRDs of a service and everything that follows from them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode } from '@fairlead/offline'
import { filesOf } from '../generator/files.ts'
import { generatedBy } from './generator-input.ts'
import type { GeneratorOptions } from './generator-input.ts'

/** Writes the files that differ, and prints a line for each kind. */
export async function run(context: CommandContext<GeneratorOptions, object>): Promise<number> {
  const { options, out } = context
  const made = await generatedBy(context)
  for (const { path, text, isOwn } of filesOf(made)) {
    const target = join(options.out, path)
    if (existsSync(target) && (isOwn === true || readFileSync(target, 'utf8') === text)) continue
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
  for (const { kind, plural, references } of made.kinds)
    out(
      `${plural}.${made.group}  ${kind}  ${references.length === 1 ? '1 reference' : `${references.length} references`}`,
    )
  return exitCode.ok
}
