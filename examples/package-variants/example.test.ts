// The steps of the README, started with `fairlead up` and seen from outside, over HTTPS.
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { PackageVariantKind, PackageVariantSetKind } from '@fairlead/variants'
import type { PackageVariant, PackageVariantSet } from '@fairlead/variants'
import { UpProcess } from '../../test/faults/up-process.ts'
import { launcher } from '../../test/support/launcher.ts'
import { eventually } from '../../test/support/until.ts'

const namespace = 'fleet'

let up: UpProcess
let client: Client
beforeAll(async () => {
  up = await UpProcess.start(undefined, ['--example', 'package-variants'])
  client = await connect({ file: up.kubeconfig })
}, 180_000)
afterAll(() => up.stop())

/** Returns the set as soon as `holds` is true of it. */
function setWhen(holds: (set: PackageVariantSet) => boolean): Promise<PackageVariantSet> {
  return eventually(async () => {
    const set = await client.get(PackageVariantSetKind, { namespace, name: 'web' })
    if (!holds(set))
      throw new Error(`the set is not as expected: ${JSON.stringify({ ...set.status, failures: undefined })}`)
    return set
  }, 250)
}

async function variants(): Promise<readonly PackageVariant[]> {
  return (await client.list(PackageVariantKind, { namespace })).items
}

/** Returns the unpublished revisions of the tenants by repository. */
async function drafts(): Promise<ReadonlyMap<string, PackageRevision>> {
  const { items } = await client.list(PackageRevisionKind, { namespace })
  const own = items.filter(
    ({ spec }) => spec.repository.startsWith('tenant-') && ['Draft', 'Proposed'].includes(spec.lifecycle ?? ''),
  )
  return new Map(own.map((revision) => [revision.spec.repository, revision]))
}

async function commits(): Promise<ReadonlyMap<string, string | undefined>> {
  return new Map([...(await drafts())].map(([repository, { status }]) => [repository, status?.selfLock?.git?.commit]))
}

async function files(name: string): Promise<Readonly<Record<string, string>>> {
  return (await client.get(PackageRevisionResourcesKind, { namespace, name })).spec.resources
}

/** Changes a file of a draft, as `fairlead rpkg push` does. */
async function edit(name: string, file: string, change: (text: string) => string): Promise<void> {
  const object = await client.get(PackageRevisionResourcesKind, { namespace, name })
  const resources = { ...object.spec.resources, [file]: change(object.spec.resources[file]!) }
  await client.update({ ...object, spec: { ...object.spec, resources } })
}

async function publish(name: string): Promise<void> {
  for (const [lifecycle, options] of [
    ['Proposed', {}],
    ['Published', { subresource: 'approval' }],
  ] as const) {
    const revision = await client.get(PackageRevisionKind, { namespace, name })
    await client.update({ ...revision, spec: { ...revision.spec, lifecycle } }, options)
  }
}

function run(program: string, ...args: readonly string[]): string {
  const env = { ...process.env, KUBECONFIG: up.kubeconfig }
  return execFileSync(program, args, { env, encoding: 'utf8' })
}

/** Runs the command; its exit code is 3 while the set is not ready. */
function tree(): string {
  try {
    return run(process.execPath, launcher, 'variant', 'tree', 'web', '-n', namespace)
  } catch (error) {
    return (error as { readonly stdout: string }).stdout
  }
}

const draftOf = (tenant: string): string => `tenant-${tenant}.web.packagevariant-1`

test('every tenant gets a draft with the endpoints of its region and a namespace of its own', async () => {
  const { status } = await setWhen((set) => set.status?.drafts === 20 && set.status.ready === 20)
  expect(status).toMatchObject({ targets: 20, variants: 20, ready: 20, drafts: 20, pending: 0, failed: 0 })
  // tenant-03 is in the east, tenant-01 in the north.
  expect((await files(draftOf('03')))['deployment.yaml']).toContain('value: db.east.example.com')
  const text = (await files(draftOf('01')))['deployment.yaml']
  expect(text).toContain('value: db.north.example.com')
  expect(text).toContain('namespace: tenant-01')
  expect((await drafts()).get('tenant-01')?.metadata.labels).toMatchObject({ region: 'north' })
}, 180_000)

test('a change of the endpoints of a region redrafts its tenants and no other', async () => {
  const before = await commits()
  const ServiceDirectory = kind<KubeObject>('infra.example.com/v1', 'ServiceDirectory')
  const key = { namespace, name: 'east-endpoints' }
  await client.patch(ServiceDirectory, key, { merge: { spec: { database: 'db2.east.example.com' } } })
  const east = ['03', '06', '09', '12', '15', '18']
  for (const tenant of east)
    await eventually(async () => {
      expect((await files(draftOf(tenant)))['deployment.yaml']).toContain('value: db2.east.example.com')
    }, 100)
  await setWhen((set) => set.status?.ready === 20)
  const after = await commits()
  const changed = [...after].filter(([repository, commit]) => before.get(repository) !== commit)
  expect(changed.map(([repository]) => repository).toSorted()).toEqual(east.map((tenant) => `tenant-${tenant}`))
  expect((await drafts()).size).toBe(20)
}, 180_000)

test('a new upstream revision reaches every draft, keeps edits, and shows a conflict with both sides', async () => {
  await edit(draftOf('05'), 'deployment.yaml', (text) => text.replace('replicas: 2', 'replicas: 7'))
  await edit(draftOf('07'), 'deployment.yaml', (text) => text.replace('web:1.4.0', 'web:1.4.1-hotfix'))
  await client.create<PackageRevision>({
    apiVersion: PackageRevisionKind.apiVersion,
    kind: 'PackageRevision',
    metadata: { namespace },
    spec: {
      repository: 'blueprints',
      packageName: 'web',
      workspaceName: 'v2',
      tasks: [{ type: 'edit', edit: { sourceRef: { name: 'blueprints.web.v1' } } }],
    },
  })
  await edit('blueprints.web.v2', 'deployment.yaml', (text) => text.replace('web:1.4.0', 'web:1.5.0'))
  await publish('blueprints.web.v2')
  await eventually(async () => {
    const upstreams = (await variants()).map(({ status }) => status?.downstreamTargets?.[0]?.upstream)
    expect(upstreams).toEqual(Array.from({ length: 20 }, () => 'blueprints.web.v2'))
  }, 250)
  const five = (await files(draftOf('05')))['deployment.yaml']
  expect(five).toContain('replicas: 7')
  expect(five).toContain('web:1.5.0')
  const seven = (await variants()).find(({ spec }) => spec.downstream.repo === 'tenant-07')
  expect(seven?.status?.conflicts).toMatchObject([
    {
      file: 'deployment.yaml',
      ours: expect.stringContaining('web:1.4.1-hotfix'),
      theirs: expect.stringContaining('web:1.5.0'),
    },
  ])
  const shown = tree()
  expect(shown).toContain('conflict in deployment.yaml')
  expect(shown).toMatch(/local .*web:1\.4\.1-hotfix.*, upstream .*web:1\.5\.0/)
}, 180_000)

test('all drafts are approved, and kubectl shows the set ready', async () => {
  for (const { metadata } of (await drafts()).values()) await publish(metadata.name!)
  await setWhen(({ status }) => status?.drafts === 0 && status.ready === 20)
  expect(tree()).toMatch(/├─ tenant-01\/web {2}published tenant-01\.web\.packagevariant-1/)
  const columns = run('kubectl', 'get', 'packagevariantset', 'web', '-n', namespace, '--no-headers').trim().split(/\s+/)
  expect(columns.slice(0, 7)).toEqual(['web', '20', '20', '0', '0', 'True', 'Reconciled'])
}, 180_000)
