// Installing CustomResourceDefinitions and waiting until the server serves them.
import { CustomResourceDefinition } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isConditionTrue } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

/**
 * Applies definitions and resolves when all of them are established. `timeout` in milliseconds, 30,000 when left out.
 * Throws ClientError `WaitTimeout` when one is not established in time, StatusError when one is refused.
 */
export async function installDefinitions(
  client: Client,
  definitions: readonly KubeObject[],
  options: { readonly signal?: AbortSignal; readonly timeout?: number } = {},
): Promise<void> {
  await Promise.all(
    definitions.map(async (definition) => {
      const applied = (await client.apply(definition, {
        manager: 'fairlead-crds',
        force: true,
        signal: options.signal,
      })) as CustomResourceDefinition
      const name = applied.metadata.name!
      if (!isEstablished(applied))
        await client.waitFor(CustomResourceDefinition, name, isEstablished, { timeout: 30_000, ...options })
      client.discovery.invalidate(applied.spec.group)
    }),
  )
}

function isEstablished(definition: CustomResourceDefinition): boolean {
  return isConditionTrue(definition.status?.conditions, 'Established')
}
