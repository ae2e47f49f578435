// `fairlead rpkg init|clone|copy`.
import type { CommandContext } from '@fairlead/controller/command'
import { CommandError } from '@fairlead/offline/command-error'
import { PackageRevisionKind, porchGroup } from '../../api.ts'
import type { PackageRevision, Task } from '../../api.ts'
import { withPorchErrors } from '../porch-errors.ts'

interface Placement {
  readonly namespace: string | undefined
  readonly repository: string | undefined
  readonly workspace: string | undefined
}

/** Creates a new package. */
export function init(
  context: CommandContext<
    Placement & {
      readonly description: string
      readonly keywords: string | undefined
      readonly site: string | undefined
    },
    { readonly package: string }
  >,
): Promise<number> {
  return withPorchErrors(context, async () => {
    const { description, keywords, site } = context.options
    const words = keywords?.split(',').filter((word) => word !== '')
    const task = { type: 'init', init: { description, ...(words && { keywords: words }), ...(site && { site }) } }
    await create(context, context.arguments.package, task)
  })
}

/** Creates a package from an upstream. */
export function clone(
  context: CommandContext<
    Placement & {
      readonly directory: string | undefined
      readonly ref: string | undefined
      readonly secretRef: string | undefined
    },
    { readonly source: string; readonly package: string }
  >,
): Promise<number> {
  return withPorchErrors(context, async () => {
    const { source } = context.arguments
    const upstreamRef = source.includes('/')
      ? { type: 'git', git: gitSource(source, context.options) }
      : { upstreamRef: { name: source } }
    await create(context, context.arguments.package, { type: 'clone', clone: { upstreamRef } })
  })
}

/** Creates a revision from a published one. */
export function copy(
  context: CommandContext<
    { readonly namespace: string | undefined; readonly workspace: string | undefined },
    { readonly source: string }
  >,
): Promise<number> {
  return withPorchErrors(context, async () => {
    const client = await context.client()
    const { source: name } = context.arguments
    const namespace = context.options.namespace ?? client.namespace
    const { spec } = await client.get(PackageRevisionKind, { namespace, name })
    const options = { ...context.options, repository: spec.repository }
    await create({ ...context, options }, spec.packageName, { type: 'edit', edit: { sourceRef: { name } } })
  })
}

function gitSource(
  source: string,
  {
    directory,
    ref,
    secretRef,
  }: { directory: string | undefined; ref: string | undefined; secretRef: string | undefined },
): NonNullable<NonNullable<NonNullable<Task['clone']>['upstreamRef']>['git']> {
  const [, repo, path, version] = /^(.*?\.git)(?:\/([^@]*))?(?:@(.+))?$/.exec(source) ?? [undefined, source]
  const folder = path?.replace(/^\/+|\/+$/g, '')
  if (directory !== undefined && folder && directory !== folder)
    throw new CommandError(
      `directory ${directory} specified by --directory contradicts directory ${folder} specified by SOURCE_PACKAGE`,
    )
  if (ref !== undefined && version !== undefined && ref !== version)
    throw new CommandError(`ref ${ref} specified by --ref contradicts ref ${version} specified by SOURCE_PACKAGE`)
  return {
    repo: repo!,
    directory: directory ?? (folder || '/'),
    ref: ref ?? version ?? 'main',
    ...(secretRef !== undefined && { secretRef: { name: secretRef } }),
  }
}

async function create(
  { options, client: connect, out }: Pick<CommandContext<Placement, unknown>, 'options' | 'client' | 'out'>,
  packageName: string,
  task: Task,
): Promise<void> {
  const { repository, workspace } = options
  if (repository === undefined) throw new CommandError('--repository is required to specify target repository')
  if (workspace === undefined || workspace === '')
    throw new CommandError('--workspace is required to specify workspace name')
  const client = await connect()
  const created = await client.create<PackageRevision>({
    apiVersion: `${porchGroup}/v1alpha1`,
    kind: 'PackageRevision',
    metadata: { namespace: options.namespace ?? client.namespace },
    spec: { packageName, repository, workspaceName: workspace, tasks: [task] },
  })
  out(`${created.metadata.name} created`)
}
