// The owners of the outputs of a MapController: `ownership` and `deletionPolicy`.
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { configMaps, controller, hook, input, names, policy, secrets, set, stage, useHook } from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

const outputs = (more: object): object => ({
  outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' }, ...more }],
})
const output = (): Promise<KubeObject> => stage.client.get(secrets, 'default/a-copy')
const ownersOf = async (): Promise<unknown> =>
  (await output()).metadata.ownerReferences?.map(({ kind, controller: controls }) => [kind, controls])

test('an output of ownership Owner has another controller, is changed and found again, and is deleted with its input', async () => {
  await set({}, controller(outputs({ ownership: 'Owner' })), policy(), input('a'), {
    ...input('z'),
    metadata: { name: 'z', namespace: 'default' },
  })
  expect(await ownersOf()).toEqual([['Policy', false]])
  const mine = (await output()).metadata.ownerReferences?.[0]
  const { uid = '' } = (await stage.client.get(configMaps, 'default/z')).metadata
  const theirs = { ...configMaps, name: 'z', uid, controller: true }
  await stage.client.patch(secrets, 'default/a-copy', {
    merge: { metadata: { ownerReferences: [mine, theirs] } } as never,
  })
  hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), data: { n: 'MQ==' } }] } })
  await stage.apply(input('a', { n: '1' }))
  await stage.pass(3)
  expect([(await output())['data'], await ownersOf()]).toEqual([
    { n: 'MQ==' },
    [
      ['Policy', false],
      ['ConfigMap', true],
    ],
  ])
  const { uid: before } = (await output()).metadata
  await stage.stopControllers()
  await stage.startControllers()
  await stage.pass(3)
  expect((await output()).metadata.uid).toBe(before)
  await stage.client.delete(configMaps, 'default/a')
  await stage.pass(3)
  expect(await names(secrets)).toEqual([])
})

test('an output that is wanted no longer stays without its owner where deletionPolicy is Orphan, and is taken over again', async () => {
  await set({}, controller(outputs({ deletionPolicy: 'Orphan' })), policy(), input('a'))
  const { uid } = (await output()).metadata
  await stage.client.delete(configMaps, 'default/a')
  await stage.pass(3)
  expect([(await output()).metadata.uid, await ownersOf()]).toEqual([uid, undefined])
  hook.calls.length = 0
  await stage.pass(60)
  expect(hook.takeCalls()).toEqual([])
  await stage.apply(input('a'))
  await stage.pass(3)
  expect([(await output()).metadata.uid, await ownersOf()]).toEqual([uid, [['Policy', true]]])
})
