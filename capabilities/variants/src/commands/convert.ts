// `fairlead variant convert`: prints sets of v1alpha1 in the form of v1alpha2; all other documents are printed as they
// are.
import type { CommandContext } from '@fairlead/controller/command'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { CommandError, exitCode, readManifests, usageError } from '@fairlead/offline'
import { ConversionError, convertedSet, isFormerSet } from '../offline/former-set.ts'

/** Prints the converted documents. */
export async function run({
  options: { filename },
  out,
  stdin,
}: CommandContext<{ readonly filename: readonly string[] }, object>): Promise<number> {
  if (filename.length === 0) throw usageError('Name files or folders with sets (-f set.yaml)')
  const manifests = await readManifests(filename, { stdin })
  const problems: string[] = []
  const converted = manifests.map(({ file, line, object }) => {
    if (!isFormerSet(object)) return object
    try {
      return convertedSet(object)
    } catch (error) {
      if (!(error instanceof ConversionError)) throw error
      problems.push(...error.problems.map((problem) => `${file}:${line}: ${problem}`))
      return object
    }
  })
  if (problems.length > 0) throw new CommandError(problems.join('\n'))
  out(stringifyYamlDocuments(converted))
  return exitCode.ok
}
