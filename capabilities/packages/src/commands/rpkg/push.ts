// `fairlead rpkg push`.
import { isUtf8 } from 'node:buffer'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { CommandContext } from '@fairlead/controller/command'
import { failure, isConflict } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { porchGroup } from '../../api.ts'
import type { PackageRevisionResources, RenderReport } from '../../api.ts'
import type { PipelineStep } from '../../engine/kptfile/kptfile.ts'
import { formatResult } from '../../engine/render/result-fields.ts'
import { withPorchErrors } from '../porch-errors.ts'
import { metadataFile, pulledVersion } from './revision-metadata.ts'

interface Item {
  kind?: string
  metadata?: { name?: string; namespace?: string; annotations?: Record<string, string> }
}

/** Writes the files of a draft from a folder or a ResourceList. */
export function run(
  context: CommandContext<
    { readonly namespace: string | undefined },
    { readonly revision: string; readonly folder: string | undefined }
  >,
): Promise<number> {
  return withPorchErrors(context, async () => {
    const { revision: name, folder = '-' } = context.arguments
    const files = folder === '-' ? filesOfList(await context.stdin()) : await filesOfFolder(folder)
    const resourceVersion = pulledVersion(files)
    files.delete(metadataFile)
    // The words of Porch's server.
    if (resourceVersion === undefined)
      throw failure(500, 'InternalError', 'Internal error occurred: resourceVersion must be specified for an update')
    const client = await context.client()
    const namespace = context.options.namespace ?? client.namespace
    const saved = await client
      .update({
        apiVersion: `${porchGroup}/v1alpha1`,
        kind: 'PackageRevisionResources',
        metadata: { name, namespace, resourceVersion },
        spec: { resources: Object.fromEntries(files) },
      } as unknown as PackageRevisionResources)
      .catch((error: unknown) => {
        if (!isConflict(error)) throw error
        throw failure(409, 'Conflict', `Internal error occurred: ${error.message}`)
      })
    reportRender(saved.status?.renderStatus, context.err)
    context.out(`${name} pushed`)
  })
}

function reportRender(report: RenderReport | undefined, err: (text: string) => void): void {
  if (report === undefined) return
  if (report.error !== '') err(`Package is updated, but failed to render the package.\nError: ${report.error}`)
  for (const { image = '', results = [] } of (report.result?.items ?? []) as readonly PipelineStep[]) {
    err(`[RUNNING] ${JSON.stringify(image)} `)
    if (results.length > 0) err(`[Results]: ${results.map(formatResult).join(', ')}`)
  }
}

async function filesOfFolder(folder: string): Promise<Map<string, string>> {
  const info = await stat(folder).catch(() => undefined)
  if (info?.isDirectory() !== true) throw new CommandError(`${folder} is no folder`)
  const files = new Map<string, string>()
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const content = await readFile(path)
    if (!isUtf8(content))
      throw new CommandError(`file ${path} is not a valid UTF-8 text file: the porch API does not support binary files`)
    files.set(path.slice(join(folder, '/').length).replaceAll('\\', '/'), content.toString())
  }
  return files
}

/** Returns the files that a ResourceList describes by the path annotations of its items. */
function filesOfList(text: string): Map<string, string> {
  const list = parse(text) as { items?: readonly Item[] } | null
  const documents = new Map<string, string[]>()
  for (const item of list?.items ?? []) {
    const path = pathOf(item)
    documents.set(path, [
      ...(documents.get(path) ?? []),
      stringify(withoutLocation(item), { indentSeq: false, lineWidth: 0 }),
    ])
  }
  return new Map([...documents].map(([path, parts]) => [path, parts.join('---\n')]))
}

function pathOf({ kind = '', metadata }: Item): string {
  const { annotations, namespace, name = '' } = metadata ?? {}
  const path = annotations?.['internal.config.kubernetes.io/path'] ?? annotations?.['config.kubernetes.io/path']
  return path ?? `${namespace === undefined ? '' : `${namespace}/`}${kind.toLowerCase()}_${name}.yaml`
}

function withoutLocation(item: Item): Item {
  const kept = Object.entries(item.metadata?.annotations ?? {}).filter(
    ([key]) => !/^(internal\.)?config\.kubernetes\.io\/(path|index)$/.test(key),
  )
  const { annotations: _location, ...metadata } = item.metadata ?? {}
  return { ...item, metadata: { ...metadata, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) } }
}
