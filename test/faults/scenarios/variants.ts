// Package variants and a set under faults: the upstream and an injected object change, one variant is deleted, one
// names a package that a user has made, one object of the set goes and another comes.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import { findCondition, isConflict } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind, packages, RepositoryKind } from '@fairlead/packages'
import type { PackageRevision, Task } from '@fairlead/packages'
import { PackageVariantKind, PackageVariantSetKind, variants } from '@fairlead/variants'
import type { Scenario } from '../scenario.ts'

const namespace = 'default'

function repository(name: string): KubeObject {
  const { apiVersion, kind } = RepositoryKind
  return { apiVersion, kind, metadata: { name, namespace }, spec: { type: 'git', git: {} } } as KubeObject
}

function variant(name: string, upstream: object = {}, more: object = {}): KubeObject {
  const { apiVersion, kind } = PackageVariantKind
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: {
      upstream: { repo: 'catalog', package: 'web', ...upstream },
      downstream: { repo: 'edge', package: name },
      ...more,
    },
  } as KubeObject
}

function config(db: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'east', namespace }, data: { db } } as KubeObject
}

/** An object that the set selects. */
function site(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { kind: 'site' } } }
}

const set = {
  apiVersion: PackageVariantSetKind.apiVersion,
  kind: PackageVariantSetKind.kind,
  metadata: { name: 'fleet', namespace },
  spec: {
    // Pinned: a variant that is made while the cache lacks the new revision begins with the former one.
    upstream: { repo: 'catalog', package: 'web', revision: 1 },
    targets: [
      {
        objectSelector: { apiVersion: 'v1', kind: 'ConfigMap', matchLabels: { kind: 'site' } },
        template: {
          downstream: { repo: 'edge', packageExpr: "'site-' + target.name" },
          injectors: [{ name: 'east' }],
        },
      },
    ],
  },
} as unknown as KubeObject

function files(mode: string): Readonly<Record<string, string>> {
  const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name:'
  return {
    'settings.yaml': `${head} settings\ndata:\n  mode: "${mode}"\n`,
    'endpoints.yaml': `${head} endpoints\n  annotations:\n    kpt.dev/config-injection: required\n`,
  }
}

async function draft(
  client: Client,
  [repo, packageName, workspaceName]: readonly [string, string, string],
  task?: Task,
): Promise<PackageRevision> {
  const { apiVersion, kind } = PackageRevisionKind
  const tasks = task === undefined ? {} : { tasks: [task] }
  const spec = { repository: repo, packageName, workspaceName, ...tasks }
  return client.create({ apiVersion, kind, metadata: { namespace }, spec })
}

/** Publishes a revision of the upstream. */
async function publish(client: Client, workspace: string, mode: string, task?: Task): Promise<void> {
  const { metadata } = await draft(client, ['catalog', 'web', workspace], task)
  const key = { namespace, name: metadata.name! }
  const read = await client.get(PackageRevisionResourcesKind, key)
  await client.update({ ...read, spec: { ...read.spec, resources: { ...read.spec.resources, ...files(mode) } } })
  for (const [lifecycle, options] of [
    ['Proposed', {}],
    ['Published', { subresource: 'approval' }],
  ] as const) {
    const revision = await client.get(PackageRevisionKind, key)
    await client.update({ ...revision, spec: { ...revision.spec, lifecycle } }, options)
  }
}

/** Starts packages with the first revision of the upstream, and a package of a user. */
async function startPackages(server: ApiServer): Promise<AsyncDisposable> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'fairlead-scenario-'))
  const client = server.client({ manager: 'fairlead-packages' })
  const manager = await Manager.start({ client })
  const instance = await packages.setup(manager, { resolve: new Map(), signal: manager.signal, dataFolder })
  const served: Disposable[] = []
  for (const storage of instance.storages ?? []) served.push(await server.addStorage(storage))
  for (const name of ['catalog', 'edge']) {
    await client.apply(repository(name))
    await client.waitFor(
      RepositoryKind,
      { namespace, name },
      ({ status }) => findCondition(status?.conditions ?? [], 'Ready')?.status === 'True',
    )
  }
  await publish(client, 'v1', 'one')
  await draft(client, ['edge', 'foreign', 'by-hand'])
  return {
    async [Symbol.asyncDispose]() {
      for (const one of served) one[Symbol.dispose]()
      await instance.stop()
      await manager.stop(1000)
      rmSync(dataFolder, { recursive: true, force: true })
    },
  }
}

async function readiness(client: Client): Promise<string> {
  const { items } = await client.list(PackageVariantKind, { namespace })
  const lines = items.map(({ metadata, status }) => {
    const ready = findCondition((status?.conditions ?? []) as never, 'Ready')
    return `${metadata.name} ${ready?.reason} ${status?.upstream?.revision}`
  })
  return lines.sort().join(', ')
}

async function content(client: Client, name: string, path: string): Promise<string> {
  const found = await client.find(PackageRevisionResourcesKind, { namespace, name })
  return found?.spec.resources[path] ?? ''
}

/** Deletes a variant as it is now: its controller may write the status between the read and the deletion. */
async function deleteVariant(client: Client, name: string): Promise<void> {
  for (;;) {
    const { uid, resourceVersion } = (await client.get(PackageVariantKind, { namespace, name })).metadata
    try {
      await client.delete(PackageVariantKind, { namespace, name }, { preconditions: { uid, resourceVersion } })
      return
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

/** The scenario. */
export const variantsScenario: Scenario = {
  name: 'variants',
  capability: variants,
  definitions: packages.crds,
  grants: [],
  objects: [
    config('10.0.0.1'),
    variant('ends', {}, { injectors: [{ name: 'east' }] }),
    variant('follows', {}, { injectors: [{ name: 'east' }] }),
    variant('foreign', {}, { injectors: [{ name: 'east' }] }),
    variant('stays', { revision: 1 }, { injectors: [{ name: 'east' }] }),
    site('goes'),
    site('kept'),
    set,
  ],
  deleted: [
    '/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants/fleet-edge-site-goes',
    '/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions/edge.ends.packagevariant-1',
    '/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions/edge.site-goes.packagevariant-1',
  ],
  kinds: [PackageVariantKind, PackageVariantSetKind, PackageRevisionKind],
  companion: startPackages,
  begins: async (client) =>
    (await readiness(client)) ===
    'ends NoErrors 1, fleet-edge-site-goes NoErrors 1, fleet-edge-site-kept NoErrors 1, follows NoErrors 1, ' +
      'foreign Error 1, stays NoErrors 1',
  holds: async (client) => {
    const wanted =
      'fleet-edge-site-comes NoErrors 1, fleet-edge-site-kept NoErrors 1, follows NoErrors 2, foreign Error 2, ' +
      'stays NoErrors 1'
    if ((await readiness(client)) !== wanted) return false
    const name = (variantName: string): string => `edge.${variantName}.packagevariant-1`
    return (
      (await content(client, name('follows'), 'settings.yaml')).includes('two') &&
      (await content(client, name('follows'), 'endpoints.yaml')).includes('10.0.0.2') &&
      (await content(client, name('stays'), 'settings.yaml')).includes('one') &&
      (await content(client, name('stays'), 'endpoints.yaml')).includes('10.0.0.2')
    )
  },
  async change(client) {
    const edit = { type: 'edit', edit: { sourceRef: { name: 'catalog.web.v1' } } }
    await publish(client, 'v2', 'two', edit)
    await client.apply(config('10.0.0.2'))
    await deleteVariant(client, 'ends')
    await client.apply(site('comes'))
    await client.delete({ apiVersion: 'v1', kind: 'ConfigMap' }, { namespace, name: 'goes' })
  },
}
