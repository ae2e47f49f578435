// Sharding: an owner belongs to the shard of its namespace, a cluster-scoped blueprint to shard 0.
import { FakeClock } from '@fairlead/kube'
import { startControllers } from '@fairlead/supply'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Replicas } from '../../../test/support/replicas.ts'
import { Stage, account, chain, git, imageTemplate, readyStatus, sourceTemplate, thing, workloadOf } from './stage.ts'

const tenants = ['team-a', 'team-b', 'team-c', 'team-d', 'team-e', 'team-f']
let stage: Stage
let replicas: Replicas

beforeEach(async () => {
  stage = await Stage.set({ tenants })
  await stage.stopControllers()
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] }
  await stage.grant('supply-leases', [leases], account.name)
  replicas = await Replicas.start(
    new FakeClock(),
    () => stage.server.client({ as: account }).transport,
    (manager) => void startControllers(manager),
  )
  await stage.apply(sourceTemplate, imageTemplate, chain)
  for (const tenant of tenants) await stage.apply(workloadOf('app', 'web', git, tenant))
  for (const tenant of tenants) await stage.client.waitFor(thing, `${tenant}/app-source`, () => true)
  await replicas.pass(2)
})
afterEach(async () => {
  await replicas[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

test('each owner is reconciled by one replica', async () => {
  const writers = (requests: Record<string, string[]>): unknown =>
    Object.fromEntries(Object.entries(requests).map(([replica, all]) => [replica, [...new Set(all)]]))
  const expected: Record<string, string[]> = { a: [], b: [] }
  for (const tenant of tenants)
    expected[replicas.ownerOf(tenant)]!.push(`PATCH /apis/carto.run/v1alpha1/namespaces/${tenant}/workloads/app/status`)
  expected[replicas.ownerOf('')]!.unshift('PATCH /apis/carto.run/v1alpha1/clustersupplychains/chain/status')
  expect(writers(replicas.written('/status'))).toEqual(expected)
  expect(Object.values(expected).every((all) => all.length > 1)).toBe(true)
})

test('owners of a dead replica move to another, which handles the events in between', async () => {
  const victim = replicas.ownerOf('team-a')
  const orphaned = tenants.filter((tenant) => replicas.ownerOf(tenant) === victim)
  replicas.cut(victim)
  for (const tenant of orphaned) await stage.setStatus(`${tenant}/app-source`, readyStatus)
  await replicas.pass(40)
  expect(new Set(tenants.map((tenant) => replicas.ownerOf(tenant)))).toEqual(new Set([victim === 'a' ? 'b' : 'a']))
  for (const tenant of orphaned) await stage.client.waitFor(thing, `${tenant}/app-image`, () => true)
})
