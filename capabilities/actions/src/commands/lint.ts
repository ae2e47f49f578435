// `fairlead actions lint`: checks mappings and maps in files, without a cluster.
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode, usageError } from '@fairlead/offline'
import { lint } from '../offline/lint.ts'

/** Prints one line per finding. Exit code 1 when there are errors; deviations from strict JSON are warnings. */
export async function run({
  arguments: { files },
  stdin,
  out,
  err,
}: CommandContext<object, { readonly files: readonly string[] }>): Promise<number> {
  const { objects, findings } = await lint(files, stdin)
  if (objects === 0 && findings.length === 0)
    throw usageError(`there is nothing to check in ${files.join(', ')}: no KindActionMapping and no map of actions`)
  for (const { message } of findings) out(message)
  const errors = findings.filter(({ isWarning }) => !isWarning).length
  err(`${objects} objects checked: ${errors} errors, ${findings.length - errors} warnings`)
  return errors > 0 ? exitCode.error : exitCode.ok
}
