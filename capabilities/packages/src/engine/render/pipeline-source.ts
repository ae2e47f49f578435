// Pipelines of one version of a package for another: its Kptfiles and the configs that their functions name.
import type { YAMLMap } from 'yaml'
import type { Kptfile } from '../kptfile/kptfile.ts'
import { parseKptfile } from '../kptfile/kptfile.ts'
import type { PackageFiles } from '../package-files.ts'
import { contentOf, isKptfile, yamlDocuments } from '../yaml/yaml-file.ts'
import { cleanPath } from './function-config.ts'
import { joinPath } from './package-tree.ts'

/** Returns the Kptfiles of a package and of those below it, with the files of their configs. @throws PackageError */
export function pipelineFiles(files: PackageFiles): PackageFiles {
  const paths = new Set<string>()
  for (const [path, content] of files) {
    if (typeof content !== 'string' || !isKptfile(path)) continue
    paths.add(path)
    const folder = path.slice(0, Math.max(0, path.length - '/Kptfile'.length))
    for (const { configPath = '' } of functionsOf(parseKptfile(content, path)))
      if (configPath !== '') paths.add(joinPath(folder, cleanPath(configPath)))
  }
  return new Map([...files].filter(([path]) => paths.has(path)))
}

/** Reports whether any of the packages has a function that changes resources. @throws PackageError */
export function hasMutators(files: PackageFiles): boolean {
  return [...files].some(
    ([path, content]) =>
      typeof content === 'string' &&
      isKptfile(path) &&
      (parseKptfile(content, path).pipeline?.mutators?.length ?? 0) > 0,
  )
}

/** Returns a Kptfile with the pipeline, and the annotations that say how it runs, of another. @throws PackageError */
export function withPipeline(kptfile: Kptfile, other: string | Uint8Array | undefined, path: string): Kptfile {
  if (typeof other !== 'string') return kptfile
  const { pipeline, metadata } = parseKptfile(other, path)
  const { pipeline: _own, ...rest } = kptfile
  const { annotations = {} } = metadata
  return { ...rest, metadata: { ...kptfile.metadata, annotations }, ...(pipeline !== undefined && { pipeline }) }
}

/** Returns the function configs among the files by their paths. */
export function functionConfigs(files: PackageFiles): ReadonlyMap<string, YAMLMap> {
  const configs = new Map<string, YAMLMap>()
  for (const [path, content] of files) {
    if (isKptfile(path)) continue
    const root = yamlDocuments(path, contentOf(path, content)).find((document) => !document.isEmpty)?.root
    if (root !== undefined) configs.set(path, root)
  }
  return configs
}

function functionsOf({ pipeline }: Kptfile): readonly { readonly configPath?: string }[] {
  return [...(pipeline?.mutators ?? []), ...(pipeline?.validators ?? [])]
}
