// What users of Metacontroller asked for (specs/metacontroller.md §5), for map controllers.
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { controller, hook, input, mapControllers, policy, reasons, secrets, set, stage, useHook } from './copies.ts'

useHook()

test('a map hook records events, is called again on request and for a new revision', async () => {
  hook.reply = () => ({ body: { outputs: [], events: [{ reason: 'Copied', message: 'one more' }] } })
  await set({}, controller(), policy(), input('a'), input('b'))
  expect(await reasons()).toContain('Copied')
  hook.takeCalls()
  await stage.client.patch(mapControllers, 'copies', {
    merge: { metadata: { annotations: { 'metacontroller.k8s.io/sync-requested-at': 'now' } } },
  })
  await stage.pass(2)
  expect(hook.takeCalls().toSorted()).toEqual(['a', 'b'])
  await stage.apply(controller({}, { map: { webhook: { url: `${hook.url}/map`, revision: '2' } } }))
  await stage.pass(3)
  expect(hook.takeCalls().toSorted()).toEqual(['a', 'b'])
})

test('an object that asks for it becomes an output, with the fields of the hook', async () => {
  const method = { updateStrategy: { method: 'InPlace' } }
  const theirs = {
    ...secrets,
    metadata: { name: 'a-copy', namespace: 'default' },
    stringData: { foreign: 'yes' },
  } as unknown as KubeObject
  await set(
    {},
    theirs,
    controller({ outputResources: [{ apiVersion: 'v1', resource: 'secrets', ...method }] }),
    policy(),
    input('a'),
  )
  const read = (): Promise<KubeObject> => stage.client.get(secrets, 'default/a-copy')
  expect((await read()).metadata.ownerReferences).toBeUndefined()
  await stage.client.patch(secrets, 'default/a-copy', {
    merge: { metadata: { annotations: { 'metacontroller.k8s.io/adopt-by': 'copies/all' } } },
  })
  await stage.pass(5)
  const { metadata } = await read()
  expect([metadata.ownerReferences?.map(({ name }) => name), Object.keys(metadata.labels ?? {})]).toEqual([
    ['all'],
    ['metacontroller.k8s.io/map-key'],
  ])
  expect(metadata.annotations).toHaveProperty(['metacontroller.k8s.io/map-applied'])
  expect(metadata.annotations).not.toHaveProperty(['metacontroller.k8s.io/adopt-by'])
})

test('no more calls are in flight than maxConcurrentCalls', async () => {
  let inFlight = 0
  const seen: number[] = []
  hook.reply = async () => {
    seen.push(++inFlight)
    await new Promise((resolve) => setImmediate(resolve))
    inFlight--
    return { body: { outputs: [] } }
  }
  const inputs = Array.from({ length: 8 }, (_, at) => input(`input-${at}`))
  await set({}, ...inputs, policy(), controller({ maxConcurrentCalls: 1 }))
  await stage.pass(3)
  expect([Math.max(...seen), seen.length]).toEqual([1, 8])
})
