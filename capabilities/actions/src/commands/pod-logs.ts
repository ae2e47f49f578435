// Logs of the pods of a Job, for commands.
import { Pod } from '@fairlead/client'
import type { Client } from '@fairlead/client'

/** Prints the logs of the pods of a Job. Returns the number of pods. */
export async function printLogs(
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  out: (text: string) => void,
): Promise<number> {
  const { items } = await client.list(Pod, { namespace, labelSelector: { matchLabels: { 'job-name': name } } })
  for (const { metadata } of items) {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(metadata.name!)}/log`
    const log = await client.send({ method: 'GET', path })
    if (typeof log === 'string' && log !== '') out(log)
  }
  return items.length
}
