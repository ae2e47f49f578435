// `fairlead rpkg pull`.
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseAllDocuments, stringify } from 'yaml'
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError } from '@fairlead/offline/command-error'
import { PackageRevisionResourcesKind } from '../../api.ts'
import { checkPath } from '../../git/tree.ts'
import { withPorchErrors } from '../porch-errors.ts'
import { metadataFile, revisionMetadata } from './revision-metadata.ts'

interface Item {
  metadata?: { annotations?: Record<string, string> }
}

/** Writes the files of a revision to a folder, or prints them as a ResourceList. */
export function run(
  context: CommandContext<
    { readonly namespace: string | undefined },
    { readonly revision: string; readonly folder: string | undefined }
  >,
): Promise<number> {
  return withPorchErrors(context, async () => {
    const client = await context.client()
    const { revision: name, folder } = context.arguments
    const namespace = context.options.namespace ?? client.namespace
    const { metadata, spec } = await client.get(PackageRevisionResourcesKind, { namespace, name })
    const files = { ...spec.resources, [metadataFile]: revisionMetadata(metadata) }
    if (folder === undefined) context.out(resourceList(files))
    else await writeFiles(folder, files)
  })
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  if (existsSync(folder)) throw new CommandError(`destination directory "${folder}" already exists`)
  for (const path of Object.keys(files)) checkPath(path)
  await mkdir(folder, { recursive: true })
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content, { mode: 0o600 })
  }
}

/** Returns the resources in files as one ResourceList, each with the path that it comes from. */
function resourceList(files: Readonly<Record<string, string>>): string {
  const items = Object.keys(files)
    .sort()
    .filter((path) => /\.(ya?ml|json)$|(^|\/)(Kptfile|\.KptRevisionMetadata)$/.test(path))
    .flatMap((path) =>
      parseAllDocuments(files[path]!).flatMap((document, index): Item[] => {
        const item = document.toJS() as Item | null
        return item === null ? [] : [withLocation(item, path, String(index))]
      }),
    )
  return stringify({ apiVersion: 'config.kubernetes.io/v1', kind: 'ResourceList', items }, { lineWidth: 0 })
}

function withLocation(item: Item, path: string, index: string): Item {
  const annotations = {
    ...item.metadata?.annotations,
    'config.kubernetes.io/index': index,
    'config.kubernetes.io/path': path,
    'internal.config.kubernetes.io/index': index,
    'internal.config.kubernetes.io/path': path,
  }
  return { ...item, metadata: { ...item.metadata, annotations } }
}
