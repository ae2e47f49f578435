// The resource of a kind in any version of its group, for reviews of objects that name kinds.
import { isClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { asJson, formatApiVersion, isNotFound } from '@fairlead/kube'

/** Returns the plural of a kind, undefined when the API server does not serve it. @throws StatusError, ClientError */
export async function servedPlural(
  client: Client,
  { group, kind }: { readonly group: string; readonly kind: string },
): Promise<string | undefined> {
  for (const version of await versionsOf(client, group))
    try {
      return (await client.discovery.resource({ apiVersion: formatApiVersion(group, version), kind })).plural
    } catch (error) {
      if (!isClientError(error, 'UnknownKind')) throw error
    }
  return undefined
}

async function versionsOf(client: Client, group: string): Promise<readonly string[]> {
  if (group === '') return ['v1']
  try {
    const found = await client.send({ method: 'GET', path: `/apis/${encodeURIComponent(group)}` })
    const { versions = [] } = asJson(found as object) as unknown as {
      readonly versions?: readonly { readonly version: string }[]
    }
    return versions.map(({ version }) => version)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}
