// Resources on the command line, TYPE/NAME: `deployment/trader`, `pod.v1/x`.
import type { Client } from '@fairlead/client'
import { isForbidden } from '@fairlead/kube'
import { CommandError, usageError } from '@fairlead/offline/command-error'
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
  const [only, ...more] = await otherNamespaces(client, ref)
  if (only === undefined || more.length > 0) return ref
  err(`There is no ${ref.kind}/${ref.name} in ${ref.namespace!}; using the one in ${only} (pass -n ${only})`)
  return { ...ref, namespace: only }
}

/**
 * Throws CommandError when the resource exists in other namespaces only, and names them. For commands that change
 * something, without --namespace.
 */
export async function requireHere(client: Client, ref: ResourceRef): Promise<void> {
  const [one, ...more] = await otherNamespaces(client, ref)
  if (one === undefined) return
  const others = more.length === 0 ? one : `${[one, ...more].slice(0, 5).join(', ')}${more.length > 4 ? ', …' : ''}`
  throw new CommandError(`There is no ${ref.kind}/${ref.name} in ${ref.namespace!}, but in ${others}: pass -n ${one}`)
}

/** Returns the namespaces with a resource of this kind and name; none if there is one where the reference says. */
async function otherNamespaces(client: Client, ref: ResourceRef): Promise<readonly string[]> {
  const kind = await new KindTable(client).kindOf(ref.kind)
  if (kind === undefined || !kind.namespaced) return []
  const like = { apiVersion: kind.apiVersion, kind: kind.kind }
  try {
    if ((await client.find(like, { namespace: ref.namespace!, name: ref.name })) !== undefined) return []
    const { items } = await client.list(like, { fieldSelector: `metadata.name=${ref.name}` })
    return items.map(({ metadata }) => metadata.namespace!)
  } catch (error) {
    if (isForbidden(error)) return []
    throw error
  }
}
