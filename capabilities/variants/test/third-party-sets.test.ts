// The samples of Porch for both kinds (third-party/porch) on a cluster: each applies and does what it says, or is
// refused for the reason given here.
import { existsSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageVariantKind } from '@fairlead/variants'
import { dataPath, describeData } from '../../../test/support/conformance-data.ts'
import { SetStage } from './set-stage.ts'

const folder = dataPath('third-party/porch')

function sample(path: string): readonly KubeObject[] {
  return (parseYamlDocuments(readFileSync(`${folder}/${path}`, 'utf8')) as unknown as readonly KubeObject[])
    .filter((document) => document !== null)
    .map((object) => ({ ...object, metadata: { ...object.metadata, namespace: 'team-a' } }))
}

async function start(): Promise<SetStage> {
  const stage = await SetStage.start()
  onTestFinished(() => stage[Symbol.asyncDispose]())
  return stage
}

async function namesAfter(stage: SetStage, count: number): Promise<readonly (readonly [string, string, string])[]> {
  await expect.poll(async () => (await stage.variants()).length).toBe(count)
  return (await stage.variants()).map(({ metadata, spec }) => [
    metadata.name!,
    spec.downstream.repo,
    spec.downstream.package,
  ])
}

const samples = [
  'controllers/packagevariants/config/samples/dp.yaml',
  'controllers/packagevariantsets/config/samples/pvs-v1alpha1.yaml',
  'controllers/packagevariantsets/config/samples/pvs-v1alpha2.yaml',
  'examples/tutorials/starting-with-porch/name-namespace-variant.yaml',
  'examples/tutorials/starting-with-porch/simple-variant.yaml',
  'test/disaster/deployment/load-variants.yaml',
  'test/disaster/deployment/load-variantset.yaml',
]
const read = (): readonly string[] => samples.filter((path) => existsSync(`${folder}/${path}`))

describeData('samples of Porch', { minimum: samples.length, read }, () => {
  test('controllers/packagevariants/config/samples/dp.yaml makes a variant of revision v3', async () => {
    const stage = await start()
    const [variant] = sample('controllers/packagevariants/config/samples/dp.yaml')
    const { spec } = await stage.client.apply(variant as never)
    expect(spec).toMatchObject({ upstream: { repo: 'blueprints', package: 'foo', revision: 'v3' } })
  })

  test('test/disaster/deployment/load-variants.yaml makes variants that adopt existing packages', async () => {
    const stage = await start()
    const objects = sample('test/disaster/deployment/load-variants.yaml')
    for (const object of objects) await stage.client.apply(object)
    const { items } = await stage.client.list(PackageVariantKind, { namespace: 'team-a' })
    expect(items.map(({ spec }) => [spec.adoptionPolicy, spec.upstream.revision])).toEqual(
      objects.map(() => ['adoptExisting', -1]),
    )
  })

  test('test/disaster/deployment/load-variantset.yaml makes twenty variants in ten repositories', async () => {
    const stage = await start()
    await stage.repository('kpt-e2e-testdata-fn-render-4')
    await stage.publish('kpt-e2e-testdata-fn-render-4', 'generator', 'one')
    for (let edge = 1; edge <= 10; edge++) await stage.repository(`variantset-edge-${edge}`)
    const [set] = sample('test/disaster/deployment/load-variantset.yaml')
    await stage.client.apply(set!)
    const names = await namesAfter(stage, 20)
    expect(new Set(names.map(([, repo]) => repo)).size).toBe(10)
    expect(new Set(names.map(([name]) => name)).size).toBe(20)
  })

  test('examples/tutorials/starting-with-porch/simple-variant.yaml makes two variants of v1', async () => {
    const stage = await start()
    await stage.repository('management')
    await stage.repository('edge1')
    await stage.publish('management', 'network-function', 'one')
    const [set] = sample('examples/tutorials/starting-with-porch/simple-variant.yaml')
    await stage.client.apply(set!)
    expect(await namesAfter(stage, 2)).toEqual([
      ['network-function-edge1-network-function-b', 'edge1', 'network-function-b'],
      ['network-function-edge1-network-function-c', 'edge1', 'network-function-c'],
    ])
  })

  test('examples/tutorials/starting-with-porch/name-namespace-variant.yaml names packages by expression', async () => {
    const stage = await start()
    await stage.repository('management')
    await stage.repository('edge1')
    await stage.publish('management', 'network-function-auto-namespace', 'one')
    const [set] = sample('examples/tutorials/starting-with-porch/name-namespace-variant.yaml')
    await stage.client.apply(set!)
    expect((await namesAfter(stage, 2)).map(([, , path]) => path)).toEqual([
      'network-function-auto-namespace-x-cumulonimbus',
      'network-function-auto-namespace-y-cumulonimbus',
    ])
  })

  test('controllers/packagevariantsets/config/samples/pvs-v1alpha2.yaml makes variants in the last repository it names', async () => {
    const stage = await start()
    // One entry repeats the key `name`: the last value counts, as for kubectl.
    const [set] = sample('controllers/packagevariantsets/config/samples/pvs-v1alpha2.yaml')
    await stage.repository('cluster-02', { env: 'test' })
    await stage.publish('catalog', 'foo', 'one')
    await stage.publish('catalog', 'foo', 'two', 'one')
    await stage.client.apply(set!)
    expect((await namesAfter(stage, 3)).map(([, , name]) => name)).toEqual([
      'foo-01-test',
      'foo-02-test',
      'foo-03-test',
    ])
    // No kind hr.bigco.com Team is served here.
    const { status } = await stage.set('example', ({ status: state }) => state?.failed === 1)
    expect(status?.failures).toMatchObject([{ target: 2, reason: 'KindUnavailable' }])
  })

  test('controllers/packagevariantsets/config/samples/pvs-v1alpha1.yaml is refused with a message', async () => {
    const stage = await start()
    const [set] = sample('controllers/packagevariantsets/config/samples/pvs-v1alpha1.yaml')
    await expect(stage.client.apply(set!)).rejects.toThrow('fairlead variant convert -f FILE')
  })
})
