import { ApiServer } from '@fairlead/apiserver'
import { Manager, cacheReader } from '@fairlead/controller'
import { expect, test } from 'vitest'

const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }

test('a cache reader returns cached objects, undefined for absent ones, and unknown for kinds without an informer', async () => {
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
  const found = reader.list(configMap, { labelSelector: 'app=x' })
  expect({
    beforeUse,
    whileSyncing,
    present: (reader.get(configMap, 'default/a') as { metadata: { name: string } }).metadata.name,
    absent: reader.get(configMap, 'default/none'),
    matching: found === 'unknown' ? found : found.map(({ metadata }) => metadata.name),
    otherKind: reader.get({ apiVersion: 'v1', kind: 'Secret' }, 'default/a'),
  }).toEqual({
    beforeUse: ['unknown', 'unknown'],
    whileSyncing: 'unknown',
    present: 'a',
    absent: undefined,
    matching: ['a'],
    otherKind: 'unknown',
  })
})
