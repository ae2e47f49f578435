// The graph edges of supply chains, from a cluster in which one owner was realized.
import { ClientReader } from '@fairlead/controller'
import type { Relation } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { supply } from '@fairlead/supply'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Stage, chain, git, imageTemplate, readyStatus, sourceTemplate, thing, workloadOf } from './stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await Stage.set()
  await stage.apply(sourceTemplate, imageTemplate, chain, workloadOf('app', 'web', git))
  await stage.client.waitFor(thing, 'team-a/app-source', () => true)
  await stage.setStatus('team-a/app-source', readyStatus)
  await stage.owner('team-a/app', ({ status }) => status?.resources?.[0]?.stampedRef !== undefined)
})
afterEach(async () => {
  await stage[Symbol.asyncDispose]()
})

const format = ({ type, from, to }: Relation): string => `${from.kind}/${from.name} ${type} ${to.kind}/${to.name}`

async function relationsOf(object: KubeObject): Promise<string[]> {
  const live = await stage.client.get(object, { namespace: '', ...object.metadata, name: object.metadata.name! })
  const source = await supply.relations!()
  const read = new ClientReader(stage.client, { signal: new AbortController().signal })
  return (await source.relations(live, read)).map(format).toSorted()
}

describe('relations of supply chains', () => {
  test('lead from a stamped object to its owner and its template', async () => {
    expect(await relationsOf({ ...thing, metadata: { name: 'app-source', namespace: 'team-a' } })).toEqual([
      'Thing/app-source made-from ClusterSourceTemplate/source',
      'Thing/app-source made-from Workload/app',
    ])
  })

  test('lead from an owner to its blueprint, and to it from its objects', async () => {
    expect(await relationsOf(workloadOf('app', 'web'))).toEqual([
      'Thing/app-image made-from Workload/app',
      'Thing/app-source made-from Workload/app',
      'Workload/app input-of ClusterSupplyChain/chain',
    ])
  })

  test('say what the owner reports on each of its objects', async () => {
    const owner = await stage.owner('team-a/app', () => true)
    const source = await supply.relations!()
    const read = new ClientReader(stage.client, { signal: new AbortController().signal })
    const found = (await source.relations(owner, read)).filter(({ type }) => type === 'made-from')
    const problemOf = ({ from, holds }: Relation): unknown[] => [from.name, holds === true || holds?.reason]
    expect(found.map(problemOf).toSorted()).toEqual([
      ['app-image', 'MissingValueAtPath'],
      ['app-source', true],
    ])
  })

  test('lead from a blueprint to its templates, and to it from its owners', async () => {
    expect(await relationsOf(chain)).toEqual([
      'ClusterSupplyChain/chain refers-to ClusterImageTemplate/image',
      'ClusterSupplyChain/chain refers-to ClusterSourceTemplate/source',
      'Workload/app input-of ClusterSupplyChain/chain',
    ])
  })

  test('lead to a template from its blueprints and its objects', async () => {
    expect(await relationsOf(imageTemplate)).toEqual([
      'ClusterSupplyChain/chain refers-to ClusterImageTemplate/image',
      'Thing/app-image made-from ClusterImageTemplate/image',
    ])
  })

  test('are empty for objects outside supply chains', async () => {
    expect(await relationsOf({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } })).toEqual([])
  })
})
