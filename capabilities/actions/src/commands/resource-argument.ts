// Resources on the command line, TYPE/NAME: `deployment/trader`, `pod.v1/x`.
import type { Client } from '@fairlead/client'
import { isForbidden } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { usageError } from '@fairlead/offline/command-error'
import type { ResourceRef } from '../runtime/target-reader.ts'
import { KindTable } from '../runtime/kind-table.ts'

/** Parses `TYPE/NAME`. Throws CommandError (usage) for any other string. */
export function parseResource(argument: string, namespace: string | undefined): ResourceRef {
  const [kind = '', name = '', ...more] = argument.split('/')
  if (kind === '' || name === '' || more.length > 0)
    throw usageError(`"${argument}" is not a resource; write TYPE/NAME, for example deployment/trader`)
  return { kind, name, namespace }
}

/**
 * Returns the reference with the namespace of the resource: its own if the resource exists there, else the only other
 * namespace with a resource of this kind and name, which is reported to `err`. For read-only commands without
 * --namespace.
 */
export async function locate(client: Client, ref: ResourceRef, err: (text: string) => void): Promise<ResourceRef> {
  const kind = await new KindTable(client).kindOf(ref.kind)
  if (kind === undefined || !kind.namespaced) return ref
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
  err(`There is no ${ref.kind}/${ref.name} in ${ref.namespace!}; using the one in ${only} (pass -n ${only})`)
  return { ...ref, namespace: only }
}
