// Loads the manifests of an example into a fresh data folder, as the user's own `kubectl apply --server-side` would.
import type { Client } from '@fairlead/client'
import { CustomResourceDefinition, kind } from '@fairlead/client'
import { isConditionTrue } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
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
  for (const step of example.steps)
    if ('publish' in step) await publish(admin, step.publish)
    else await applyAll(admin, step.objects)
  await admin.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: marker, data: { summary: example.summary } })
  return true
}

/** Time for a definition to be established, or a repository to be opened. Milliseconds. */
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

/** Applies objects in order. Later ones need the definitions to be established, and the Repositories to be ready. */
async function applyAll(admin: Client, objects: readonly KubeObject[]): Promise<void> {
  const repositories: KubeObject[] = []
  for (const object of objects) {
    // The server writes the first files of a package.
    await admin.apply(object, { manager, force: object.kind === 'PackageRevisionResources' })
    if (object.kind === 'Repository') repositories.push(object)
    if (object.kind !== 'CustomResourceDefinition') continue
    await admin.waitFor(
      CustomResourceDefinition,
      object.metadata.name as string,
      (definition) => isConditionTrue(definition.status?.conditions, 'Established'),
      { timeout: establishedTimeout },
    )
    admin.discovery.invalidate()
  }
  for (const { apiVersion, metadata } of repositories)
    await admin.waitFor(
      kind<WithConditions>(apiVersion, 'Repository'),
      { namespace: metadata.namespace!, name: metadata.name! },
      ({ status }) => isConditionTrue(status?.conditions, 'Ready'),
      { timeout: establishedTimeout },
    )
}

interface WithConditions extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] }
}

interface Revision extends KubeObject {
  readonly spec: { readonly lifecycle?: string }
}

const PackageRevision = kind<Revision>('porch.kpt.dev/v1alpha1', 'PackageRevision')

/** Proposes and approves a package revision, as `fairlead rpkg propose` and `fairlead rpkg approve` do. */
async function publish(admin: Client, key: string): Promise<void> {
  const { spec } = await admin.get(PackageRevision, key)
  if (spec.lifecycle === 'Published') return
  if (spec.lifecycle === 'Draft') await setLifecycle(admin, key, 'Proposed', {})
  await setLifecycle(admin, key, 'Published', { subresource: 'approval' })
}

async function setLifecycle(
  admin: Client,
  key: string,
  lifecycle: string,
  options: { readonly subresource?: string },
): Promise<void> {
  const revision = await admin.get(PackageRevision, key)
  await admin.update({ ...revision, spec: { ...revision.spec, lifecycle } }, { ...options, manager })
}
