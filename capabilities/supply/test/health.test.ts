// The health of stamped objects on the embedded server: of resources that wait or are gated, and of rules that read the
// time.
import { FakeClock } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  Stage,
  chain,
  git,
  imageTemplate,
  readyStatus,
  resourcesOf,
  sourceTemplate,
  supplyChain,
  template,
  thing,
  workloadOf,
} from './stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await Stage.set()
})
afterEach(() => stage[Symbol.asyncDispose]())

const appTemplate = template('ClusterTemplate', 'app', {
  healthRule: { singleConditionType: 'Ready' },
  template: { ...thing, metadata: { name: '$(workload.metadata.name)$-app' }, spec: { image: '$(image)$' } },
})
const gated = supplyChain('gated', 'gated', [
  { ...chain.spec.resources[0]!, gate: 'healthy' },
  chain.spec.resources[1]!,
  {
    name: 'app',
    templateRef: { kind: 'ClusterTemplate', name: 'app' },
    images: [{ name: 'image', resource: 'image' }],
  },
])
const condition = (status: string, message: string): object => ({ conditions: [{ type: 'Ready', status, message }] })

test('a resource that waits for a gate reports the health of its object, and why the gate holds', async () => {
  const judged = { ...imageTemplate, spec: { ...imageTemplate.spec, healthRule: { singleConditionType: 'Ready' } } }
  await stage.apply(sourceTemplate, judged, appTemplate, gated, workloadOf('web', 'gated', git))
  await stage.client.waitFor(thing, 'team-a/web-source', () => true)
  await stage.setStatus('team-a/web-source', readyStatus)
  await stage.client.waitFor(thing, 'team-a/web-image', () => true)
  await stage.setStatus('team-a/web-image', { image: 'web:1', ...condition('True', 'built') })
  await stage.client.waitFor(thing, 'team-a/web-app', () => true)
  await stage.setStatus('team-a/web-app', condition('True', 'runs'))
  await stage.ready('team-a/web', 'True')

  await stage.setStatus('team-a/web-image', { image: 'web:1', ...condition('False', 'build failed') })
  const held = await stage.owner(
    'team-a/web',
    (owner) => resourcesOf(owner)['app']?.['ResourceSubmitted']?.[0] === 'Unknown',
  )
  const reason =
    'waiting for [image] of resource [image]: its outputs are withheld until it is healthy (gate: healthy); it is False (build failed)'
  expect(resourcesOf(held)['app']).toEqual({
    ResourceSubmitted: ['Unknown', 'MissingValueAtPath', reason],
    Healthy: ['True', 'ReadyCondition', 'runs'],
    Ready: ['Unknown', 'MissingValueAtPath', reason],
  })
  await stage.setStatus('team-a/web-app', condition('False', 'app crashed'))
  const crashed = await stage.owner('team-a/web', (owner) => resourcesOf(owner)['app']?.['Healthy']?.[0] === 'False')
  expect(resourcesOf(crashed)['app']?.['Healthy']).toEqual(['False', 'ReadyCondition', 'app crashed'])
})

test('health that a ClusterHealthRule derives from `now` changes with time alone', async () => {
  await stage.stopControllers()
  const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'))
  const rule = (name: string, apiVersion: string, until: string): KubeObject =>
    ({
      apiVersion: 'carto.run/v1alpha1',
      kind: 'ClusterHealthRule',
      metadata: { name },
      spec: {
        target: { apiVersion, kind: 'Thing' },
        healthRule: {
          expression: { healthy: `now < timestamp('${until}')`, unhealthy: `now >= timestamp('${until}')` },
        },
      },
    }) as never
  await stage.apply(
    template('ClusterTemplate', 'timed', {
      healthRule: { auto: {} },
      template: { ...thing, metadata: { name: '$(workload.metadata.name)$' }, spec: {} },
    }),
    supplyChain('timed', 'timed', [{ name: 'timed', templateRef: { kind: 'ClusterTemplate', name: 'timed' } }]),
    workloadOf('timed', 'timed'),
    // The rule of one version takes precedence over that of all versions, whatever their names are.
    rule('a-all', 'test.run/*', '2025-01-01T00:00:00Z'),
    rule('z-exact', thing.apiVersion, '2026-01-01T00:01:00Z'),
  )
  await stage.startControllers(clock)
  await stage.ready('team-a/timed', 'True')
  for (let round = 0; round < 5; round++) {
    await stage.settle()
    await clock.advance(20_000)
  }
  const late = await stage.ready('team-a/timed', 'False')
  expect(resourcesOf(late)['timed']?.['Healthy']).toEqual(['False', 'DefaultRule', ''])
})
