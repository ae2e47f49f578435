// Areas merge3 and kptfile-merge.
import { parseYamlDocuments, stringifyYaml } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { PackageFiles, UpdateStrategy } from '@fairlead/packages'
import { PackageError, updatePackage } from '@fairlead/packages'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { holdsFragments, sameSet, sameValue } from '../comparison.ts'

/** Merges three packages and compares files, objects, resources or the error. */
export function playMerge(input: Case['input'], want: Case['want']): Disagreement[] {
  let files: PackageFiles
  try {
    files = updatePackage({
      base: filesOf(input.base),
      upstream: filesOf(input.upstream),
      local: filesOf(input.local),
      strategy: input.strategy as UpdateStrategy,
    }).files
  } catch (error) {
    if (!(error instanceof PackageError)) throw error
    const isWanted = want.error !== undefined && holdsFragments(error.message, want.error as string[])
    return isWanted ? [] : [{ at: 'error', wanted: want.error, came: error.message }]
  }
  if (want.error !== undefined) return [{ at: 'error', wanted: want.error, came: Object.fromEntries(files) }]
  const documents = (content: string | Uint8Array): JsonValue[] => parseYamlDocuments(String(content))
  const byPath = Object.fromEntries([...files].map(([path, content]) => [path, documents(content)]))
  return [
    ...(want.files === undefined ? [] : sameValue('files', want.files, Object.fromEntries(files))),
    ...(want.objects === undefined
      ? []
      : sameValue(
          'objects',
          Object.fromEntries(Object.entries(want.objects as object).map(([path, object]) => [path, [object]])),
          byPath,
        )),
    ...(want.resources === undefined
      ? []
      : sameSet(
          'resources',
          (want.resources as JsonValue[]).map(stringifyYaml),
          Object.values(byPath).flat().map(stringifyYaml),
        )),
  ]
}

/** Merges three Kptfiles and compares the value. */
export function playKptfileMerge(input: Case['input'], want: Case['want']): Disagreement[] {
  const kptfile = (value: unknown): PackageFiles => new Map([['Kptfile', stringifyYaml(value as JsonValue)]])
  const { files } = updatePackage({
    base: kptfile(input.base),
    upstream: kptfile(input.upstream),
    local: kptfile(input.local),
    strategy: 'resource-merge',
  })
  return sameValue('kptfile', want.kptfile, parseYamlDocuments(String(files.get('Kptfile')))[0])
}

function filesOf(value: unknown): PackageFiles {
  return new Map(Object.entries(value as Record<string, string>))
}
