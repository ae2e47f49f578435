// What users must mend: rights that are missing, steps that stamp one object, and the warnings about all that.
import { FakeClock } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  Stage,
  account,
  conditionsOf,
  git,
  resourcesOf,
  runnable,
  supplyChain,
  template,
  thing,
  workloadOf,
} from './stage.ts'

let stage: Stage
beforeEach(async () => void (stage = await Stage.set()))
afterEach(() => stage[Symbol.asyncDispose]())

const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
const secret = { apiVersion: 'v1', kind: 'Secret' }

/** Returns the warnings as `reason: note`, sorted. */
async function warnings(): Promise<string[]> {
  const { items } = await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace: 'team-a' })
  return (items as readonly { type?: string; reason?: string; note?: string }[])
    .filter(({ type }) => type === 'Warning')
    .map(({ reason, note }) => `${reason}: ${note}`)
    .toSorted()
}

async function allowSecrets(): Promise<void> {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }
  const rules = [{ apiGroups: ['test.run', ''], resources: ['*'], verbs: ['get', 'list', 'create', 'patch', 'delete'] }]
  await stage.client.patch(role, 'team-a/builder', { merge: { rules: rules as never } })
}

describe('a kind that the controller may not watch', () => {
  let clock: FakeClock
  beforeEach(async () => {
    await stage.stopControllers()
    await allowSecrets()
    clock = new FakeClock()
    await stage.startControllers(clock)
  })

  test('is stamped within a second of the grant', async () => {
    await stage.apply(
      template('ClusterTemplate', 'secret', {
        template: { ...secret, metadata: { name: '$(workload.metadata.name)$' }, stringData: { a: 'b' } },
      }),
      supplyChain('secret', 'secret', [{ name: 'secret', templateRef: { kind: 'ClusterTemplate', name: 'secret' } }]),
      workloadOf('app', 'secret'),
    )
    const refused = await stage.ready('team-a/app', 'False')
    expect(conditionsOf(refused)['Ready']?.slice(1)).toEqual([
      'FailedToListCreatedObjects',
      expect.stringContaining('`fairlead supply rbac` prints it'),
    ])
    await stage.settle()
    await stage.grant(
      'late',
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] }],
      account.name,
    )
    await stage.settle()
    await clock.advance(900)
    await stage.client.waitFor(secret, 'team-a/app', () => true)
  })

  test('is read every minute for the selector of a Runnable, with a warning', async () => {
    const selected = (name: string, revision: string): KubeObject =>
      ({
        ...secret,
        metadata: { name, namespace: 'team-a', labels: { pick: 'me' } },
        stringData: { revision },
      }) as never
    await stage.apply(
      selected('one', '1'),
      {
        apiVersion: 'carto.run/v1alpha1',
        kind: 'ClusterRunTemplate',
        metadata: { name: 'run' },
        spec: {
          template: { ...thing, metadata: { generateName: 'run-' }, spec: { of: '$(selected.metadata.name)$' } },
        },
      } as never,
      {
        ...runnable,
        metadata: { name: 'run', namespace: 'team-a' },
        spec: {
          runTemplateRef: { name: 'run' },
          serviceAccountName: 'builder',
          selector: { resource: secret, matchingLabels: { pick: 'me' } },
        },
      } as never,
    )
    await stage.until(async () => (await stage.things()).length === 1, 'there is a run')
    await stage.until(async () => (await warnings()).length === 1, 'there is a warning')
    await stage.settle()
    await stage.client.delete(secret, 'team-a/one')
    await stage.apply(selected('two', '2'))
    await stage.settle()
    expect(await stage.things()).toHaveLength(1)
    await clock.advance(70_000)
    await stage.until(async () => (await stage.things()).length === 2, 'there is a second run')
    expect(await warnings()).toEqual([expect.stringContaining('SelectorNotWatched: the selected Secret in v1')])
  })
})

test('the second of two resources that stamp one object is refused, and nothing flips', async () => {
  const twin = (name: string): KubeObject =>
    template('ClusterTemplate', name, { template: { ...thing, metadata: { name: 'twin' }, spec: { who: name } } })
  await stage.apply(
    twin('one'),
    twin('two'),
    supplyChain(
      'twins',
      'twins',
      ['one', 'two'].map((name) => ({ name, templateRef: { kind: 'ClusterTemplate', name } })),
    ),
    workloadOf('app', 'twins'),
  )
  const owner = await stage.ready('team-a/app', 'False')
  expect([resourcesOf(owner)['one']?.['Ready']?.[0], resourcesOf(owner)['two']?.['ResourceSubmitted']]).toEqual([
    'True',
    [
      'False',
      'TemplateStampFailure',
      'unable to stamp object for resource [two] for template [ClusterTemplate/two] in supply chain [twins]: resource [one] stamps Thing [twin], too; name one of them differently',
    ],
  ])
  await stage.settle()
  const { spec, metadata } = await stage.client.get(thing, 'team-a/twin')
  expect([spec, metadata.generation]).toEqual([{ who: 'one' }, 1])
  expect(await warnings()).toEqual([
    expect.stringContaining('TemplateStampFailure: unable to stamp object for resource [two]'),
  ])
})

test('a warning names the blueprints that match, the account that is missing, and what was refused', async () => {
  const only = [{ name: 'map', templateRef: { kind: 'ClusterTemplate', name: 'map' } }] as const
  await stage.apply(
    template('ClusterTemplate', 'map', { template: { ...configMap, metadata: { name: 'NOT VALID' } } }),
    supplyChain('a', 'both', only),
    supplyChain('b', 'both', only),
    supplyChain('c', 'map', only),
    workloadOf('both', 'both', git),
    workloadOf('nobody', 'map', { serviceAccountName: 'missing' }),
    workloadOf('refused', 'map'),
  )
  for (const name of ['both', 'nobody', 'refused']) await stage.ready(`team-a/${name}`, 'False')
  await stage.settle()
  expect(await warnings()).toEqual([
    expect.stringContaining('Invalid: ConfigMap "NOT VALID" is invalid'),
    "MultipleSupplyChainMatches: workload may only match a single supply chain's selector; those of [a, b] match",
    'ServiceAccountError: service account [team-a/missing] not found',
  ])
})
