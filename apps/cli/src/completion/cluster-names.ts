// Names from the cluster for completion. Names that cannot be fetched quickly are left out: completion never fails.
import { kindNamed, loadKubeconfig, servedKinds } from '@fairlead/client'
import type { Client, ServedKind } from '@fairlead/client'
import { clientFromKubeconfig } from '../connect.ts'

type Given = Readonly<Record<string, string | undefined>>

/** Time limit: a user waits at the keyboard. Milliseconds. */
const patience = 2_000

/** Returns the contexts of the kubeconfig. */
export function contextNames({ kubeconfig }: Given): Promise<readonly string[]> {
  return quietly(async () => [
    ...(await loadKubeconfig(kubeconfig === undefined ? {} : { file: kubeconfig })).contexts.keys(),
  ])
}

/** Returns the namespaces of the cluster. */
export function namespaceNames(given: Given): Promise<readonly string[]> {
  return withClient(given, (client) => namesOf(client, { apiVersion: 'v1', kind: 'Namespace' }, undefined))
}

/**
 * Returns `type/name` candidates for a word: types up to the slash, then names of that type. TYPE and KIND match every
 * type.
 */
export function resourceNames(kinds: readonly string[], word: string, given: Given): Promise<readonly string[]> {
  return withClient(given, async (client) => {
    const all = kinds.includes('TYPE') || kinds.includes('KIND')
    const types = (await servedKinds(client)).filter(
      ({ singular, plural, verbs, isPreferred }) =>
        isPreferred && verbs.includes('list') && (all || kinds.includes(singular) || kinds.includes(plural)),
    )
    const slash = word.indexOf('/')
    // Events are served by two groups.
    if (slash < 0) return [...new Set(types.map(({ singular }) => `${singular}/`))]
    const type = word.slice(0, slash)
    const found = kindNamed(types, type)
    if (found === undefined) return []
    const names = await namesOf(client, found, found.namespaced ? (given['namespace'] ?? client.namespace) : undefined)
    return names.map((name) => `${type}/${name}`)
  })
}

async function namesOf(
  client: Client,
  { apiVersion, kind }: Pick<ServedKind, 'apiVersion' | 'kind'>,
  namespace: string | undefined,
): Promise<string[]> {
  const { items } = await client.list(
    { apiVersion, kind },
    { ...(namespace !== undefined && { namespace }), pageSize: 500 },
  )
  return items.map(({ metadata }) => metadata.name as string)
}

/** Returns what a cluster answers in time; nothing when there is none. */
export function withClient(
  given: Given,
  ask: (client: Client) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  return quietly(async () => {
    const client = await clientFromKubeconfig(given)
    try {
      using _patience = client.clock.timer(patience, () => void client.transport[Symbol.asyncDispose]())
      return await ask(client)
    } finally {
      await client.transport[Symbol.asyncDispose]()
    }
  })
}

async function quietly(ask: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await ask()
  } catch {
    return []
  }
}
