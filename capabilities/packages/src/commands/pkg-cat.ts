// `fairlead pkg cat`: prints the resources of a package.
import type { CommandContext } from '@fairlead/controller/command'
import { exitCode } from '@fairlead/offline'
import { isKptfile, isResourceFile, joinDocuments, yamlDocuments } from '../engine/yaml/yaml-file.ts'
import { formatDocument } from '../engine/yaml/format.ts'
import { sequenceIndentOf } from '../engine/yaml/sequence-indent.ts'
import { readPackageFolder } from '../offline/package-folder.ts'

interface Options {
  readonly annotate: boolean
}

interface Arguments {
  readonly folder: string | undefined
}

/** Prints every resource but the Kptfiles, in the order of the files, as one YAML stream. */
export async function run({
  arguments: { folder = '.' },
  options: { annotate },
  out,
}: CommandContext<Options, Arguments>): Promise<number> {
  const files = await readPackageFolder(folder)
  const sources = [...files].flatMap(([path, content]) => {
    if (typeof content !== 'string' || !isResourceFile(path) || isKptfile(path)) return []
    return yamlDocuments(path, content)
      .filter((document) => !document.isEmpty)
      .map((document) => {
        const text = formatDocument(document.nodes, { sequenceIndent: sequenceIndentOf(document.source) })
        return annotate ? `# ${path}\n${text}` : text
      })
  })
  if (sources.length > 0) out(joinDocuments(sources).trimEnd())
  return exitCode.ok
}
