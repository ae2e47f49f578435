// Loads the manifests of an example into a fresh data folder, as the user's own `kubectl apply --server-side` would.
import type { Client } from '@fairlead/client'
import { CustomResourceDefinition, kind } from '@fairlead/client'
import { isConditionTrue } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { systemNamespace } from './identities.ts'
import type { Example } from './example.ts'

/** kubectl's field manager: what users apply themselves later does not conflict with the example. */
const manager = 'kubectl'
const ConfigMap = kind<KubeObject>('v1', 'ConfigMap', { plural: 'configmaps', namespaced: true })

/**
 * Applies an example once per data folder: a ConfigMap records that it was loaded, so that later changes and deletions
 * by the user are kept. An interrupted load is repeated. Resolves with false when it was loaded before.
 */
export async function loadExample(admin: Client, example: Example): Promise<boolean> {
  const marker = { namespace: systemNamespace, name: markerName(example.name) }
  if ((await admin.find(ConfigMap, marker)) !== undefined) return false
  for (const { objects } of example.manifests) await applyAll(admin, objects)
  await admin.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: marker, data: { summary: example.summary } })
  return true
}

/** Time for a definition to be established. Milliseconds. */
const establishedTimeout = 30_000

const prefix = 'example-'

function markerName(example: string): string {
  return `${prefix}${example.replaceAll('/', '-')}`
}

/** Returns the names of other examples that were loaded before: their objects are there, their processes are not. */
export async function otherExamples(admin: Client, current: Example | undefined): Promise<readonly string[]> {
  const { items } = await admin.list(ConfigMap, { namespace: systemNamespace })
  const names = items.map(({ metadata }) => metadata.name!).filter((name) => name.startsWith(prefix))
  return names.filter((name) => name !== (current && markerName(current.name))).map((name) => name.slice(prefix.length))
}

/** Applies definitions first and waits until they are established, then applies everything else in order. */
async function applyAll(admin: Client, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await admin.apply(object, { manager, force: false })
    if (object.kind !== 'CustomResourceDefinition') continue
    await admin.waitFor(
      CustomResourceDefinition,
      object.metadata.name as string,
      (definition) => isConditionTrue(definition.status?.conditions, 'Established'),
      { timeout: establishedTimeout },
    )
    admin.discovery.invalidate()
  }
}
