// `fairlead repo unregister`.
import { Secret } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { isNotFound } from '@fairlead/kube'
import { RepositoryKind } from '../../api.ts'
import { withPorchErrors } from '../porch-errors.ts'

/** Deletes the Repository, and the Secret that registration has made for it. */
export function run(
  context: CommandContext<
    { readonly namespace: string | undefined; readonly keepAuthSecret: boolean },
    { readonly repository: string }
  >,
): Promise<number> {
  return withPorchErrors(context, async () => {
    const client = await context.client()
    const namespace = context.options.namespace ?? client.namespace
    const { repository: name } = context.arguments
    const { metadata, spec } = await client.get(RepositoryKind, { namespace, name })
    const { uid, resourceVersion } = metadata
    await client.delete(RepositoryKind, { namespace, name }, { preconditions: { uid, resourceVersion } })
    const secretName = spec?.git?.secretRef?.name
    // Another Secret may be in use elsewhere.
    if (context.options.keepAuthSecret || secretName !== `${name}-auth`) return
    try {
      const secret = await client.get(Secret, { namespace, name: secretName })
      const preconditions = { uid: secret.metadata.uid, resourceVersion: secret.metadata.resourceVersion }
      await client.delete(Secret, { namespace, name: secretName }, { preconditions })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  })
}
