// Logs of the pods of a run, for commands.
import type { ActionsClient } from './actions-client.ts'

/** Prints the logs of the pods of a Job. Returns the number of pods. */
export async function printLogs(
  actions: ActionsClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  out: (text: string) => void,
): Promise<number> {
  const logs = await actions.logs(namespace, name)
  for (const { text } of logs) if (text !== '') out(text)
  return logs.length
}
