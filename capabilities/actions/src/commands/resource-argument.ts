// `deployment/trader`, `pod.v1/x`, or two words: a resource as kubectl names it.
import type { CommandContext } from '@fairlead/controller'
import { isClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { StatusError, isForbidden } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { asActionError } from '../engine/action-error.ts'
import type { ResourceRef } from '../runtime/action-service.ts'
import { KindTable } from '../runtime/kind-table.ts'

/** Reads `TYPE/NAME`; undefined when it is none. */
export function parseResource(text: string, namespace: string | undefined): ResourceRef | undefined {
  const [kind, name, ...more] = text.split('/')
  if (kind === undefined || kind === '' || name === undefined || name === '' || more.length > 0) return undefined
  return { kind, name, namespace }
}

/**
 * Where a resource is that was named without a namespace: in the kubeconfig's, else in the only other one that has one
 * of this kind and name, which is said. For commands that only look.
 */
export async function located(context: CommandContext, client: Client, ref: ResourceRef): Promise<ResourceRef> {
  if (context.options['namespace'] !== undefined) return ref
  const kind = await new KindTable(client).kindOf(ref.kind)
  if (kind === undefined || !kind.namespaced) return ref
  // The table's entry is no Kind of the client: it has no version.
  const like = { apiVersion: kind.apiVersion, kind: kind.kind }
  if ((await client.find(like, { namespace: ref.namespace!, name: ref.name })) !== undefined) return ref
  let found: readonly KubeObject[]
  try {
    found = (await client.list(like, { fieldSelector: `metadata.name=${ref.name}` })).items
  } catch (error) {
    if (isForbidden(error)) return ref
    throw error
  }
  const [only, ...more] = found.map(({ metadata }) => metadata.namespace!)
  if (only === undefined || more.length > 0) return ref
  context.err(
    `There is no ${ref.kind}/${ref.name} in ${ref.namespace!}; this is the one in ${only} (say so with -n ${only})`,
  )
  return { ...ref, namespace: only }
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
