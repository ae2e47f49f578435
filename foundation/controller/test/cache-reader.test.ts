import { ApiServer } from '@fairlead/apiserver'
import { Manager, cacheReader } from '@fairlead/controller'
import type { Unknown } from '@fairlead/controller'
import { expect, test } from 'vitest'

const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }

test('a cache reader tells found, missing and unknown objects apart', async () => {
  await using server = await ApiServer.start()
  const client = server.client()
  await client.create({ ...configMap, metadata: { name: 'a', namespace: 'default', labels: { app: 'x' } } })
  await client.create({ ...configMap, metadata: { name: 'b', namespace: 'default' } })
  await using manager = await Manager.start({ client })
  const reader = cacheReader(manager.informers)
  const beforeUse = [reader.get(configMap, 'default/a'), reader.list(configMap)]
  using use = manager.use(configMap)
  const whileSyncing = reader.get(configMap, 'default/a')
  await use.informer.waitForState()
  const [present, absent] = [reader.get(configMap, 'default/a'), reader.get(configMap, 'default/none')]
  const found = reader.list(configMap, { labelSelector: 'app=x' })
  const codeOf = (read: { readonly known: true } | Unknown): unknown => read.known || read.reason.code
  expect({
    beforeUse: beforeUse.map(codeOf),
    whileSyncing: codeOf(whileSyncing),
    present: present.known && present.object?.metadata.name,
    absent,
    matching: found.known && found.objects.map(({ metadata }) => metadata.name),
    otherKind: codeOf(reader.get({ apiVersion: 'v1', kind: 'Secret' }, 'default/a')),
  }).toEqual({
    beforeUse: ['KindSyncing', 'KindSyncing'],
    whileSyncing: 'KindSyncing',
    present: 'a',
    absent: { known: true, object: undefined },
    matching: ['a'],
    otherKind: 'KindSyncing',
  })
})
