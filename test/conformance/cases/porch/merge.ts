// Areas merge3 and kptfile-merge.
import { parseYamlDocuments, stringifyYaml } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { PackageFiles, UpdateStrategy } from '@fairlead/packages'
import { PackageError, isResourceFile, updatePackage } from '@fairlead/packages'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { holdsFragments, sameElements, sameValue } from '../comparison.ts'

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
  return [
    ...(want.files === undefined ? [] : sameValue('files', want.files, Object.fromEntries(files))),
    ...(want.objects === undefined ? [] : sameObjects(want.objects as Readonly<Record<string, JsonValue>>, files)),
    ...(want.resources === undefined
      ? []
      : sameElements('resources', want.resources as JsonValue[], [...files].flatMap(documentsOf))),
  ]
}

function sameObjects(wanted: Readonly<Record<string, JsonValue>>, files: PackageFiles): Disagreement[] {
  const came = Object.fromEntries([...files].map((file) => [file[0], documentsOf(file)]))
  const lists = Object.entries(wanted).map(([path, object]) => [path, [object]] as const)
  return sameValue('objects', Object.fromEntries(lists), came)
}

/** Returns the documents of a file; none of one that holds no resources. */
function documentsOf([path, content]: readonly [string, string | Uint8Array]): JsonValue[] {
  return isResourceFile(path) ? parseYamlDocuments(String(content)) : []
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
