// Names for completion of `KIND NAME`.
import { kindNamed, servedKinds } from '@fairlead/client'
import type { CompletionContext } from '@fairlead/controller'

/** Returns the names of the objects of the kind before. */
export async function objectNames({ arguments: [type = ''], options, client }: CompletionContext): Promise<string[]> {
  const kind = type.includes('/') ? undefined : kindNamed(await servedKinds(client), type)
  if (kind === undefined) return []
  const namespace = kind.namespaced ? { namespace: options['namespace'] ?? client.namespace } : {}
  const { items } = await client.list(kind, { ...namespace, metadataOnly: true })
  return items.map(({ metadata }) => metadata.name ?? '')
}
