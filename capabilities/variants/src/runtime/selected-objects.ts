// The objects that the targets of a set select, read with the controller's rights: only what has a namespace, only in
// the namespace of the set, never a Secret.
import { isClientError, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { KindUnavailable } from '@fairlead/controller'
import type { Reader } from '@fairlead/controller'
import { SelectorError, parseApiVersion, selectorFrom } from '@fairlead/kube'
import type { SelectedObjects } from '../engine/set/candidates.ts'
import { selectable } from '../engine/set/spec.ts'
import type { Selectable, SetSpec } from '../engine/set/spec.ts'

type Selector = NonNullable<SetSpec['targets'][number]['objectSelector']>

/** Reads the objects of all selectors of a set. A change of one of them wakes the set. */
export async function readSelectedObjects(
  { targets }: SetSpec,
  namespace: string,
  read: Reader,
  client: Client,
): Promise<(selector: { readonly apiVersion: string; readonly kind: string }) => SelectedObjects> {
  const found = new Map<string, SelectedObjects>()
  for (const { objectSelector } of targets) {
    if (objectSelector === undefined) continue
    const id = kindId(objectSelector)
    found.set(id, merged(found.get(id), await readObjects(objectSelector, namespace, read, client)))
  }
  return (selector) => found.get(kindId(selector)) ?? { objects: [] }
}

async function readObjects(
  { apiVersion, kind: name, name: _name, ...labels }: Selector,
  namespace: string,
  read: Reader,
  client: Client,
): Promise<SelectedObjects> {
  if (name === 'Secret' && parseApiVersion(apiVersion).group === '')
    return { unavailable: 'objectSelector must not select Secrets; select another kind' }
  const selected = kind(apiVersion, name)
  try {
    const { namespaced } = await client.discovery.describe(selected)
    if (!namespaced)
      return { unavailable: `${name} is cluster-scoped; objectSelector selects objects of the namespace of the set` }
    const objects = await read.list(selected, { namespace, labelSelector: selectorFrom(labels) })
    return { objects: objects.map(selectable) }
  } catch (error) {
    // The engine reports an invalid selector with its field.
    if (error instanceof SelectorError) return { objects: [] }
    if (error instanceof KindUnavailable) return { unavailable: unavailable(error) }
    if (!isClientError(error, 'UnknownKind')) throw error
    // Wakes the set when the server serves the kind.
    await read.state(selected)
    return { unavailable: error.message }
  }
}

function unavailable({ state, message }: KindUnavailable): string {
  return state === 'Forbidden'
    ? `${message}; \`fairlead variant rbac -f SET.yaml\` prints the ClusterRole that allows it`
    : message
}

function merged(one: SelectedObjects | undefined, other: SelectedObjects): SelectedObjects {
  if (one === undefined || 'unavailable' in other) return other
  if ('unavailable' in one) return one
  const byName = new Map<string, Selectable>([...one.objects, ...other.objects].map((object) => [object.name, object]))
  return { objects: [...byName.values()] }
}

function kindId({ apiVersion, kind: name }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion}/${name}`
}
