// The graph edges of supply chains, from a cluster in which one owner was realized.
import { Client } from '@fairlead/client'
import { Manager, cacheReader } from '@fairlead/controller'
import type { CapabilityInstance, Relation } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { supply } from '@fairlead/supply'
import type { Owner } from '@fairlead/supply'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import {
  Stage,
  account,
  chain,
  git,
  imageTemplate,
  readyStatus,
  sourceTemplate,
  thing,
  workload,
  workloadOf,
} from './stage.ts'

let stage: Stage
let manager: Manager
let instance: CapabilityInstance

beforeEach(async () => {
  stage = await Stage.set()
  await stage.stopControllers()
  const client = new Client({ transport: stage.server.client({ as: account }).transport })
  const options = { resolve: new Map<string, string>(), signal: new AbortController().signal }
  manager = await Manager.start({
    client,
    setup: async (starting) => {
      instance = await supply.setup(starting, options)
    },
  })
  await stage.apply(sourceTemplate, imageTemplate, chain, workloadOf('app', 'web', git))
  await stage.client.waitFor(thing, 'team-a/app-source', () => true)
  await stage.setStatus('team-a/app-source', readyStatus)
  await stage.owner('team-a/app', ({ status }) => status?.resources?.[0]?.stampedRef !== undefined)
  await until('the cache has the status of the owner', () => {
    const cached = cacheReader(manager.informers).get<Owner>(workload, 'team-a/app')
    return cached.known && cached.object?.status?.resources?.[0]?.stampedRef !== undefined
  })
})
afterEach(async () => {
  await instance.stop()
  await manager.stop(2000)
  await stage[Symbol.asyncDispose]()
})

const format = ({ type, from, to }: Relation): string => `${from.kind}/${from.name} ${type} ${to.kind}/${to.name}`

async function relationsOf(object: KubeObject): Promise<string[]> {
  const live = await stage.client.get(object, { namespace: '', ...object.metadata, name: object.metadata.name! })
  return instance.relations!(live, cacheReader(manager.informers)).map(format).toSorted()
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
