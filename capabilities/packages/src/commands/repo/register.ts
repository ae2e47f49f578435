// `fairlead repo register`.
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { configGroup } from '../../api.ts'
import type { Repository } from '../../api.ts'
import { withPorchErrors } from '../porch-errors.ts'

interface Options {
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly branch: string
  readonly createBranch: boolean
  readonly directory: string
  readonly deployment: string | boolean | undefined
  readonly description: string | undefined
  readonly repoBasicUsername: string | undefined
  readonly repoBasicPassword: string | undefined
  readonly syncSchedule: string | undefined
}

/** Creates the Repository, and the Secret with its credentials. */
export function run(context: CommandContext<Options, { readonly address: string | undefined }>): Promise<number> {
  return withPorchErrors(context, async () => {
    const { address } = context.arguments
    const { options } = context
    if (address?.startsWith('oci://') === true)
      throw new CommandError('OCI repositories are not supported; push the packages to a git repository')
    const name =
      options.name ??
      address
        ?.replace(/\/+$/, '')
        .split('/')
        .at(-1)
        ?.replace(/\.git$/, '')
    if (name === undefined) throw new CommandError('--name is required for a repository without an address')
    const client = await context.client()
    const namespace = options.namespace ?? client.namespace
    const { repoBasicUsername: username, repoBasicPassword: password, deployment, description } = options
    const secret = `${name}-auth`
    const hasCredentials = username !== undefined || password !== undefined
    if (hasCredentials) {
      await client.create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: secret, namespace },
        type: 'kubernetes.io/basic-auth',
        data: { username: base64(username), password: base64(password) },
      } as KubeObject)
    }
    await client.create<Repository>({
      apiVersion: `${configGroup}/v1alpha1`,
      kind: 'Repository',
      metadata: { name, namespace },
      spec: {
        type: 'git',
        ...(description !== undefined && { description }),
        ...(deployment !== undefined && deployment !== false && deployment !== 'false' && { deployment: true }),
        git: {
          ...(address !== undefined && { repo: address }),
          branch: options.branch,
          directory: options.directory,
          ...(options.createBranch && { createBranch: true }),
          ...(hasCredentials && { secretRef: { name: secret } }),
        },
        ...(options.syncSchedule !== undefined && { sync: { schedule: options.syncSchedule } }),
      },
    })
  })
}

function base64(value: string | undefined): string {
  return Buffer.from(value ?? '').toString('base64')
}
