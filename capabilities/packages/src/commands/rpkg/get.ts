// `fairlead rpkg get`.
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError, usageError } from '@fairlead/offline/command-error'
import { latestLabel, PackageRevisionKind, PackageRevisionResourcesKind } from '../../api.ts'
import type { PackageRevision } from '../../api.ts'
import { printed } from '../output.ts'
import type { TableColumn } from '../output.ts'
import { withPorchErrors } from '../porch-errors.ts'

interface Options {
  readonly namespace: string | undefined
  readonly allNamespaces: boolean
  readonly name: string | undefined
  readonly revision: string | undefined
  readonly workspace: string | undefined
  readonly showKptfile: boolean
  readonly output: string | undefined
  readonly noHeaders: boolean
}

const columns: readonly TableColumn[] = (
  [
    ['NAME', ({ metadata }) => metadata.name],
    ['PACKAGE', ({ spec }) => spec.packageName],
    ['WORKSPACENAME', ({ spec }) => spec.workspaceName],
    ['REVISION', ({ spec }) => spec.revision ?? 0],
    ['LATEST', ({ metadata }) => metadata.labels?.[latestLabel] === 'true'],
    ['LIFECYCLE', ({ spec }) => spec.lifecycle],
    ['REPOSITORY', ({ spec }) => spec.repository],
  ] as const satisfies readonly (readonly [string, (revision: PackageRevision) => unknown])[]
).map(([name, value]) => ({ name, cell: (object) => String(value(object as PackageRevision) ?? '') }))

/** Lists package revisions. */
export function run(context: CommandContext<Options, { readonly revisions: readonly string[] }>): Promise<number> {
  return withPorchErrors(context, async () => {
    const { options, out } = context
    const names = context.arguments.revisions
    if (options.showKptfile) return showKptfile(context, names)
    const client = await context.client()
    const namespace = options.namespace ?? client.namespace
    const objects =
      names.length > 0
        ? await Promise.all(names.map((name) => named(client, { namespace, name })))
        : (
            await client.list(PackageRevisionKind, {
              ...(!options.allNamespaces && { namespace }),
              fieldSelector: selector(options),
            })
          ).items
    if (objects.length === 0) return undefined
    out(
      printed(objects, {
        output: options.output ?? '',
        columns,
        withNamespace: options.allNamespaces,
        headers: !options.noHeaders,
        isSingle: names.length === 1,
      }),
    )
    return undefined
  })
}

/** Reads a revision. The words for a missing one are those that porchctl prints. */
async function named(
  client: Client,
  key: { readonly namespace: string; readonly name: string },
): Promise<PackageRevision> {
  const found = await client.find(PackageRevisionKind, key)
  if (found !== undefined) return found
  throw new CommandError(
    `the server could not find the requested resource (get packagerevisions.porch.kpt.dev ${key.name})`,
  )
}

function selector({ name, revision, workspace }: Options): string {
  const terms = { packageName: name, revision, workspaceName: workspace }
  return Object.entries(terms)
    .flatMap(([field, value]) => (value === undefined ? [] : [`spec.${field}=${value}`]))
    .join(',')
}

async function showKptfile(
  { options, client: connect, out }: CommandContext<Options, unknown>,
  names: readonly string[],
): Promise<undefined> {
  if (names.length !== 1) throw usageError('--show-kptfile requires exactly one package revision name as an argument')
  if (options.name !== undefined || options.revision !== undefined || options.workspace !== undefined)
    throw usageError('--show-kptfile cannot be combined with --name, --revision, or --workspace')
  if (options.allNamespaces) throw usageError('--show-kptfile cannot be combined with --all-namespaces')
  const client = await connect()
  const namespace = options.namespace ?? client.namespace
  const { spec } = await client.get(PackageRevisionResourcesKind, { namespace, name: names[0]! })
  const kptfile = spec.resources['Kptfile']
  if (kptfile === undefined) throw usageError(`the package revision ${names[0]} has no Kptfile`)
  out(kptfile)
  return undefined
}
