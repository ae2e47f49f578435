// Installs CustomResourceDefinitions and waits until the server serves them.
import { Backoff, ClientError, CustomResourceDefinition } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isConditionTrue } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

/**
 * Interval of checks whether an established kind is served; milliseconds. Other replicas of the server follow within
 * seconds.
 */
const servedWaits = { base: 20, cap: 500 }

/**
 * Applies definitions and resolves when all of them are established and their kinds can be listed. `timeout` in
 * milliseconds, 30,000 when left out. Throws ClientError `WaitTimeout` when one is not served in time, StatusError when
 * one is refused.
 */
export async function installDefinitions(
  client: Client,
  definitions: readonly KubeObject[],
  options: { readonly signal?: AbortSignal; readonly timeout?: number } = {},
): Promise<void> {
  const { timeout = 30_000, signal } = options
  const until = client.clock.monotonic() + timeout
  await Promise.all(
    definitions.map(async (definition) => {
      const applied = (await client.apply(definition, {
        manager: 'fairlead-crds',
        force: true,
        signal,
      })) as CustomResourceDefinition
      const name = applied.metadata.name!
      if (!isEstablished(applied))
        await client.waitFor(CustomResourceDefinition, name, isEstablished, { timeout, signal })
      await served(client, applied, until, signal)
      client.discovery.invalidate(applied.spec.group)
    }),
  )
}

function isEstablished(definition: CustomResourceDefinition): boolean {
  return isConditionTrue(definition.status?.conditions, 'Established')
}

/**
 * A real server sets up a kind's storage after it has reported the kind as established, and refuses requests until
 * then: 404, 429 or 503.
 */
async function served(
  client: Client,
  { metadata, spec }: CustomResourceDefinition,
  until: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const waits = new Backoff({ ...servedWaits, random: client.random })
  for (const { name: version } of spec.versions.filter((one) => one.served)) {
    const path = `/apis/${spec.group}/${version}/${spec.names.plural}`
    while (notServed.has((await client.sendRaw({ method: 'GET', path, query: { limit: 1 }, signal })).status)) {
      if (client.clock.monotonic() >= until)
        throw new ClientError(
          'WaitTimeout',
          `CustomResourceDefinition ${metadata.name} is established, but ${path} is not served`,
        )
      await client.clock.sleep(waits.next(), signal)
    }
  }
}

const notServed: ReadonlySet<number> = new Set([404, 429, 503])
