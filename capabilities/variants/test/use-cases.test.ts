// The use cases of the design, as docs/how-to/package-variant-sets.md writes them out: its manifests are applied, and
// the drafts are what it says.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installDefinitions } from '@fairlead/controller'
import type { Relation } from '@fairlead/controller'
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind } from '@fairlead/packages'
import { crd } from '../../../test/support/crd.ts'
import { SetStage } from './set-stage.ts'

const namespace = 'team-a'
const page = readFileSync(new URL('../../../docs/how-to/package-variant-sets.md', import.meta.url), 'utf8')

let stage: SetStage
beforeAll(async () => {
  stage = await SetStage.start()
}, 60_000)
afterAll(() => stage[Symbol.asyncDispose]())

/** Applies the manifests of a case. */
async function apply(name: string): Promise<void> {
  const [, text] = new RegExp(`\`\`\`yaml case=${name}\n([^]*?)\`\`\``).exec(page)!
  for (const object of parseYamlDocuments(text!) as unknown as readonly KubeObject[])
    await stage.client.apply({ ...object, metadata: { ...object.metadata, namespace } })
}

const configMap = (name: string, data: object, metadata: object = {}): Promise<KubeObject> =>
  stage.client.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, ...metadata },
    data,
  } as KubeObject)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: docker.io/acme/web:1.0.0
`

const point = (apiVersion: string, kind: string, name: string): string => `apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: ${name}
  annotations:
    kpt.dev/config-injection: required
    config.kubernetes.io/local-config: "true"
`

test('an external package is imported with images of the organisation and a checked chargeback code', async () => {
  await stage.repository('external')
  await stage.package('external', 'web', { 'deployment.yaml': deployment })
  await apply('organisation')
  const files = await stage.draft('import-web')
  expect(files['deployment.yaml']).toContain('image: registry.example.com/acme/web:1.0.0')
  expect(files['deployment.yaml']).toContain('chargeback-code: cc-0000')
  expect(files['Kptfile']).toContain('validate-cel')
  // The check is part of the copy: a code of another form cannot be saved.
  const mutators = [
    { image: 'ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0', configMap: { 'chargeback-code': 'none' } },
  ]
  const kind = { apiVersion: 'config.porch.kpt.dev/v1alpha1', kind: 'PackageVariant' }
  await stage.client.patch(kind, { namespace, name: 'import-web' }, { merge: { spec: { pipeline: { mutators } } } })
  const failed = await stage.variant(
    'import-web',
    ({ status }) => status?.conditions?.some(({ type, status: is }) => type === 'Rendered' && is === 'False') === true,
  )
  expect(failed.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
    status: 'False',
    reason: 'RenderFailed',
    message: expect.stringMatching(
      /^function ghcr.io\/fairlead\/validate-cel:v1 failed: \[error\] apps\/v1\/Deployment\/web: rule chargeback-code /,
    ) as string,
  })
  const key = { namespace, name: 'catalog.web.packagevariant-1' }
  const { spec } = await stage.client.get(PackageRevisionResourcesKind, key)
  expect(spec.resources['deployment.yaml']).toContain('chargeback-code: cc-0000')
})

test('each tenant gets a package with a namespace of its own', async () => {
  await stage.repository('tenants')
  await stage.package('catalog', 'tenant', { 'deployment.yaml': deployment })
  const annotations = { 'example.com/cost-center': '17' }
  await configMap('red', {}, { labels: { kind: 'tenant' }, annotations })
  await apply('tenants')
  const files = await stage.draft('tenants-tenants-red')
  expect(files['deployment.yaml']).toContain('namespace: tenant-red')
  expect(files['namespace.yaml']).toContain('name: tenant-red')
  const { items } = await stage.client.list(PackageRevisionKind, { namespace })
  const draft = items.find(({ spec }) => spec.repository === 'tenants' && spec.packageName === 'red')
  expect(draft?.metadata.annotations).toMatchObject(annotations)
  // By the event of the object alone.
  await configMap('blue', {}, { labels: { kind: 'tenant' }, annotations })
  expect((await stage.draft('tenants-tenants-blue'))['deployment.yaml']).toContain('namespace: tenant-blue')
})

test('a workload takes the configuration of its region, and of its cluster', async () => {
  const definition = crd({
    group: 'infra.example.com',
    kind: 'Cluster',
    schema: { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
  })
  await installDefinitions(stage.client, [definition])
  const rules = [{ apiGroups: ['infra.example.com'], resources: ['clusters'], verbs: ['get', 'list', 'watch'] }]
  await stage.grant('clusters', rules, 'system:serviceaccount:fairlead-system:fairlead-variants')
  await configMap('east-endpoints', { db: 'db.east' })
  await configMap('west-endpoints', { db: 'db.west' })
  await stage.client.create({
    apiVersion: 'infra.example.com/v1',
    kind: 'Cluster',
    metadata: { name: 'edge-1', namespace },
    spec: { cidr: '10.1.0.0/16' },
  } as KubeObject)
  await stage.repository('edge-1', { region: 'east', env: 'prod', canary: 'true' })
  await stage.repository('edge-2', { region: 'west', env: 'dev' })
  const endpoints = { 'endpoints.yaml': point('v1', 'ConfigMap', 'endpoints') }
  await stage.package('catalog', 'regional', endpoints)
  await stage.package('catalog', 'clustered', {
    ...endpoints,
    'cluster.yaml': point('infra.example.com/v1', 'Cluster', 'cluster'),
  })
  await apply('region')
  expect((await stage.draft('by-region-edge-1-regional'))['endpoints.yaml']).toContain('db: db.east')
  expect((await stage.draft('by-region-edge-2-regional'))['endpoints.yaml']).toContain('db: db.west')
  await apply('cluster-and-region')
  const files = await stage.draft('by-cluster-edge-1-clustered')
  expect(files['endpoints.yaml']).toContain('db: db.east')
  expect(files['cluster.yaml']).toContain('cidr: 10.1.0.0/16')
  expect(files['package-context.yaml']).toContain('cluster: edge-1')
})

test('the graph has the upstream and the injected objects of a variant, its set and its revisions', async () => {
  const format = ({ type, from, to }: Relation): string => `${from.kind}/${from.name} ${type} ${to.kind}/${to.name}`
  const graph = async (apiVersion: string, kind: string, name: string): Promise<readonly string[]> =>
    (await stage.relations(await stage.client.get({ apiVersion, kind }, { namespace, name }))).map(format)
  const variant = 'PackageVariant/by-region-edge-1-regional'
  const ofSet = `${variant} made-from PackageVariantSet/by-region`
  const ofRevision = `PackageRevision/edge-1.regional.packagevariant-1 made-from ${variant}`
  const input = `ConfigMap/east-endpoints input-of ${variant}`
  const upstream = `PackageRevision/catalog.regional.v1 upstream-of ${variant}`
  const config = 'config.porch.kpt.dev'
  expect(await graph(`${config}/v1alpha1`, 'PackageVariant', 'by-region-edge-1-regional')).toEqual([
    ofSet,
    `${variant} refers-to Repository/catalog`,
    `${variant} refers-to Repository/edge-1`,
    upstream,
    ofRevision,
    input,
  ])
  expect(await graph(`${config}/v1alpha2`, 'PackageVariantSet', 'by-region')).toContain(ofSet)
  expect(await graph('porch.kpt.dev/v1alpha1', 'PackageRevision', 'edge-1.regional.packagevariant-1')).toEqual([
    ofRevision,
  ])
  expect(await graph('porch.kpt.dev/v1alpha1', 'PackageRevision', 'catalog.regional.v1')).toContain(upstream)
  expect(await graph('v1', 'ConfigMap', 'east-endpoints')).toContain(input)
  expect(await graph('v1', 'ConfigMap', 'red')).toEqual([])
})

test('production takes stable revisions only, two clusters at a time and canaries first', async () => {
  for (const name of ['edge-3', 'edge-4']) await stage.repository(name, { env: 'prod' })
  await stage.package('catalog', 'staged', { 'deployment.yaml': deployment })
  await apply('environment')
  expect((await stage.draft('dev-edge-2-staged'))['package-context.yaml']).toContain('environment: dev')
  const waiting = await stage.set('prod', ({ status }) => status?.conditions?.length === 2)
  expect(waiting.status?.conditions?.find(({ type }) => type === 'Stalled')?.reason).toBe('UpstreamNotFound')
  const revision = { namespace, name: 'catalog.staged.v1' }
  await stage.client.patch(PackageRevisionKind, revision, { merge: { metadata: { labels: { channel: 'stable' } } } })
  const { status } = await stage.set('prod', (set) => set.status?.drafts === 2)
  expect(status).toMatchObject({ targets: 3, variants: 2, pending: 1 })
  const made = (await stage.variants()).filter(({ metadata }) => metadata.name!.startsWith('prod-'))
  expect(made.map(({ metadata }) => metadata.name)).toEqual(['prod-edge-1-staged', 'prod-edge-3-staged'])
  // The first approval makes room for the last variant.
  for (const [lifecycle, options] of [
    ['Proposed', {}],
    ['Published', { subresource: 'approval' }],
  ] as const) {
    const draft = await stage.client.get(PackageRevisionKind, { namespace, name: 'edge-1.staged.packagevariant-1' })
    await stage.client.update({ ...draft, spec: { ...draft.spec, lifecycle } }, options)
  }
  expect((await stage.draft('prod-edge-4-staged'))['package-context.yaml']).toContain('replicas: "3"')
})
