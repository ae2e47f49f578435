// `deployment/trader`, `pod.v1/x`, or two words: a resource as kubectl names it.
import type { CommandContext } from '@fairlead/controller'
import { StatusError } from '@fairlead/kube'
import { isClientError } from '@fairlead/client'
import { asActionError } from '../engine/action-error.ts'
import type { ResourceRef } from '../service/action-service.ts'

/** Options of all commands that speak of a resource of a cluster. */
export const clusterOptions: readonly { readonly flags: string; readonly description: string }[] = [
  {
    flags: '-n, --namespace <namespace>',
    description: 'namespace of the resource; that of the kubeconfig when left out',
  },
  { flags: '--kubeconfig <file>', description: 'the kubeconfig to use' },
  { flags: '--context <name>', description: 'the context of the kubeconfig to use' },
]

/** Reads `TYPE/NAME`; undefined when it is none. */
export function parseResource(text: string, namespace: string | undefined): ResourceRef | undefined {
  const [kind, name, ...more] = text.split('/')
  if (kind === undefined || kind === '' || name === undefined || name === '' || more.length > 0) return undefined
  return { kind, name, namespace }
}

/** Says why something cannot be had and gives the exit code; errors of ours go on. */
export async function reported(context: CommandContext, run: () => Promise<number>): Promise<number> {
  try {
    return await run()
  } catch (error) {
    const refusal = asActionError(error)
    if (refusal === undefined && !(error instanceof StatusError) && !isClientError(error)) throw error
    context.err(refusal?.message ?? (error as Error).message)
    return 1
  }
}

/** A table with aligned columns. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]! + 3)))
        .join('')
        .trimEnd(),
    )
    .join('\n')
}
