import { fileURLToPath } from 'node:url'
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { conditionOf, healthOfResources, stageFor, testTimeout, waitForReady, waitTimeout } from './stage.ts'
import type { ExampleStage } from './stage.ts'

const workload = { apiVersion: 'carto.run/v1alpha1', kind: 'Workload' }
const testRun = { apiVersion: 'build.example.com/v1', kind: 'TestRun' }
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' }
let stage: ExampleStage

beforeEach(async () => {
  stage = await stageFor(fileURLToPath(new URL('.', import.meta.url)))
})
afterEach(() => stage[Symbol.asyncDispose]())

const ready = (name: string): Promise<KubeObject> =>
  waitForReady(stage.client, workload, `default/${name}`, ['True', 'Ready'])
const unhealthy = (name: string): Promise<KubeObject> =>
  waitForReady(stage.client, workload, `default/${name}`, ['False', 'HealthyConditionRule'])
const branch = (name: string, to: string): Promise<KubeObject> =>
  stage.client.patch(workload, `default/${name}`, { merge: { spec: { source: { git: { ref: { branch: to } } } } } })
const image = (name: string): Promise<string> =>
  stage.client.get(deployment, `default/${name}`).then(({ spec }) => {
    return (spec as { template: { spec: { containers: readonly { image: string }[] } } }).template.spec.containers[0]!
      .image
  })

describe('the supply-chain example', { timeout: testTimeout }, () => {
  test('takes a Workload with tests from its source to a Deployment', async () => {
    const { status } = await ready('shop')
    expect(healthOfResources(status)).toEqual({
      source: ['True', 'ReadyCondition', 'fetched'],
      tested: ['True', 'SucceededCondition', 'all tests passed'],
      image: ['True', 'ReadyCondition', 'built'],
      config: ['True', 'OutputsAvailable', ''],
      deployment: ['True', 'DefaultRule', '1 of 1 are available'],
    })
    expect(await image('shop')).toBe('registry.example.com/shop:main')
    const { spec } = await stage.client.get({ apiVersion: 'build.example.com/v1', kind: 'Build' }, 'default/shop')
    expect(spec).toMatchObject({ env: [{ name: 'OPTIMIZE', value: 'yes' }] })
  })

  test('passes the source on where there are no tests', async () => {
    const { status } = await ready('blog')
    const { resources } = status as { resources: readonly { name: string }[] }
    expect(conditionOf(resources[1], 'ResourceSubmitted')).toEqual(['True', 'PassThrough', ''])
    expect(
      (await stage.client.list(testRun, { namespace: 'default' })).items.map(({ metadata }) => metadata.generateName),
    ).not.toContain('blog-')
  })

  test('reports in Ready why a Workload cannot be built, and recovers', async () => {
    const { status } = await unhealthy('broken')
    expect(conditionOf(status, 'Ready')?.[2]).toBe("resource [image]: main.ts:3: cannot find name 'froo'")
    expect(await stage.client.find(deployment, 'default/broken')).toBeUndefined()
    await branch('broken', 'main')
    await ready('broken')
    expect(await image('broken')).toBe('registry.example.com/broken:main')
  })

  test('tests each revision once and keeps two runs', async () => {
    await ready('shop')
    for (const revision of ['next', 'later']) {
      await branch('shop', revision)
      await stage.client.waitFor(
        deployment,
        'default/shop',
        ({ spec }) => JSON.stringify(spec).includes(`shop:${revision}`),
        { timeout: waitTimeout },
      )
    }
    await ready('shop')
    const { items } = await stage.client.list(testRun, { namespace: 'default' })
    expect(items.map(({ spec }) => (spec as { revision: string }).revision).toSorted()).toEqual(['later', 'next'])
  })
})
