import { fileURLToPath } from 'node:url'
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { conditionOf, stageFor, testTimeout, waitForReady, waitTimeout } from '../supply-chain/stage.ts'
import type { ExampleStage } from '../supply-chain/stage.ts'

const deliverable = { apiVersion: 'carto.run/v1alpha1', kind: 'Deliverable' }
const runnable = { apiVersion: 'carto.run/v1alpha1', kind: 'Runnable' }
const check = { apiVersion: 'delivery.example.com/v1', kind: 'Check' }
const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
let stage: ExampleStage

beforeEach(async () => {
  stage = await stageFor(fileURLToPath(new URL('.', import.meta.url)))
})
afterEach(() => stage[Symbol.asyncDispose]())

const ready = (kind: typeof deliverable, name: string): Promise<KubeObject> =>
  waitForReady(stage.client, kind, `default/${name}`, ['True', 'Ready'])
/** A passing state: wait for it before causing it. */
const incomplete = (name: string): Promise<KubeObject> =>
  waitForReady(stage.client, deliverable, `default/${name}`, ['Unknown', 'ConditionNotMet'])

describe('the delivery example', { timeout: testTimeout }, () => {
  test('passes a source on only when it is deployed, and waits again for the next one', async () => {
    const { spec, metadata } = await stage.client.get(deliverable, 'default/front')
    const first = { ...deliverable, metadata: { name: 'side', namespace: 'default', labels: metadata.labels }, spec }
    const [waiting] = await Promise.all([incomplete('side'), stage.client.create(first)])
    expect(conditionOf(waiting.status, 'ResourcesSubmitted')?.[2]).toBe(
      'resource [release] condition not met: could not find value on output [status.deployed]: jsonpath returned empty list: status.deployed',
    )
    await ready(deliverable, 'front')
    const announced = await stage.client.get(configMap, 'default/front-announcement')
    expect((announced as { data?: unknown }).data).toEqual({ deployed: 'registry.example.com/front:1' })
    const merge = { spec: { source: { image: 'registry.example.com/front:2' } } }
    await Promise.all([incomplete('front'), stage.client.patch(deliverable, 'default/front', { merge })])
    await stage.client.waitFor(
      configMap,
      'default/front-announcement',
      (object) => JSON.stringify(object).includes('front:2'),
      { timeout: waitTimeout },
    )
    await ready(deliverable, 'front')
  })

  test('creates a second run when an input changes', async () => {
    const first = await ready(runnable, 'check')
    expect((first.status as { outputs?: unknown }).outputs).toEqual({ result: 'checked https://example.com/first' })
    await stage.client.patch(runnable, 'default/check', {
      merge: { spec: { inputs: { target: 'https://example.com/second' } } },
    })
    await stage.client.waitFor(
      runnable,
      'default/check',
      ({ status }) => JSON.stringify(status ?? {}).includes('checked https://example.com/second'),
      { timeout: waitTimeout },
    )
    const { items } = await stage.client.list(check, { namespace: 'default' })
    expect(items.map(({ spec }) => (spec as { target: string }).target).toSorted()).toEqual([
      'https://example.com/first',
      'https://example.com/second',
    ])
  })
})
