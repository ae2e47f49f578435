// `fairlead repo get`.
import type { CommandContext } from '@fairlead/controller/command'
import { RepositoryKind } from '../../api.ts'
import type { Repository } from '../../api.ts'
import { printed } from '../output.ts'
import type { TableColumn } from '../output.ts'
import { withPorchErrors } from '../porch-errors.ts'

interface Options {
  readonly namespace: string | undefined
  readonly allNamespaces: boolean
  readonly output: string | undefined
  readonly noHeaders: boolean
}

const columns: readonly TableColumn[] = (
  [
    ['NAME', ({ metadata }) => metadata.name],
    ['TYPE', ({ spec }) => spec?.type],
    ['CONTENT', ({ spec }) => spec?.content],
    ['SYNC SCHEDULE', ({ spec }) => spec?.sync?.schedule],
    ['DEPLOYMENT', ({ spec }) => spec?.deployment],
    ['READY', ({ status }) => status?.conditions?.find(({ type }) => type === 'Ready')?.status],
    ['ADDRESS', ({ spec }) => spec?.git?.repo],
  ] as const satisfies readonly (readonly [string, (repository: Repository) => unknown])[]
).map(([name, value]) => ({ name, cell: (object) => String(value(object as Repository) ?? '') }))

/** Lists repositories. */
export function run(context: CommandContext<Options, { readonly repositories: readonly string[] }>): Promise<number> {
  return withPorchErrors(context, async () => {
    const { options, out } = context
    const names = context.arguments.repositories
    const client = await context.client()
    const namespace = options.namespace ?? client.namespace
    const objects =
      names.length > 0
        ? await Promise.all(names.map((name) => client.get(RepositoryKind, { namespace, name })))
        : (await client.list(RepositoryKind, options.allNamespaces ? {} : { namespace })).items
    const { output = '', allNamespaces: withNamespace, noHeaders } = options
    if (objects.length > 0)
      out(printed(objects, { output, columns, withNamespace, headers: !noHeaders, isSingle: names.length === 1 }))
  })
}
