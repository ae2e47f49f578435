// `fairlead rpkg tag`.
import type { CommandContext } from '@fairlead/controller/command'
import { porchGroup } from '../../api.ts'

interface Arguments {
  readonly revision: string
  readonly tag: string
}

/** Makes a tag name a revision. */
export async function run(
  context: CommandContext<{ readonly namespace: string | undefined }, Arguments>,
): Promise<number> {
  const client = await context.client()
  const { revision, tag } = context.arguments
  const namespace = context.options.namespace ?? client.namespace
  const apiVersion = `${porchGroup}/v1alpha1`
  await client.send({
    method: 'POST',
    path: `/apis/${apiVersion}/namespaces/${namespace}/packagerevisions/${revision}/tag`,
    body: { apiVersion, kind: 'PackageRevisionTag', metadata: { name: revision, namespace }, spec: { tag } },
  })
  context.out(`${revision} tagged ${tag}`)
  return 0
}
