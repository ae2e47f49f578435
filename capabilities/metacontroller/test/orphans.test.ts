// Orphans of a MapController on an embedded server: what is adopted, what is not, and by whom.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import {
  configMaps,
  controller,
  hook,
  input,
  mapControllers,
  names,
  policy,
  reasons,
  secrets,
  set,
  stage,
  useHook,
} from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

const recreate = [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'Recreate' } }]

/** Returns an object of an output without what only the server sets, as a user copies it. */
function copied(output: KubeObject, metadata: object): KubeObject {
  const { name, namespace, labels, annotations } = output.metadata
  return { ...output, metadata: { name, namespace, labels, annotations, ...metadata } }
}

async function uids(): Promise<Record<string, string | undefined>> {
  const { items } = await stage.client.list(secrets)
  return Object.fromEntries(items.map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata.uid]))
}

describe('an object without an owner that carries the tag of a group', () => {
  test('stays as it is when the hook does not want its name', async () => {
    await set({}, controller(), policy(), input('a'))
    const output = await stage.client.get(secrets, 'default/a-copy')
    await stage.client.create(copied(output, { name: 'backup' }))
    await stage.pass(5)
    await stage.apply(input('a', { more: 'data' }))
    await stage.pass(5)
    const backup = await stage.client.get(secrets, 'default/backup')
    expect([backup.metadata.ownerReferences, backup.metadata.deletionTimestamp]).toEqual([undefined, undefined])
  })

  test('stays as it is when its input is deleted', async () => {
    await set({}, controller(), policy(), input('a'))
    const output = await stage.client.get(secrets, 'default/a-copy')
    await stage.client.create(copied(output, { name: 'backup' }))
    await stage.client.delete(configMaps, 'default/a')
    await stage.pass(5)
    expect(Object.keys(await uids())).toEqual(['default/backup'])
  })

  test('is adopted without being recreated when its parent is created again, and the parent has an event', async () => {
    await set({}, controller({ outputResources: recreate }), policy(), input('a'), input('b'))
    const before = await uids()
    await stage.client.delete(policy(), 'default/all', { propagation: 'Orphan' })
    await stage.pass(2)
    await stage.apply(policy())
    await stage.pass(5)
    const { metadata } = await stage.client.get(policy(), 'default/all')
    const after = (await stage.client.list(secrets)).items
    expect(await uids()).toEqual(before)
    expect(after.map((object) => object.metadata.ownerReferences?.map(({ uid }) => uid))).toEqual([
      [metadata.uid],
      [metadata.uid],
    ])
    expect(await reasons()).toContain('Adopted')
  })
})

describe('an object in another namespace than the parent that its tag names', () => {
  test.each(['without an owner', 'with the uid of the parent as its owner'])(
    'is no output and keeps no group from its hook, %s',
    async (how) => {
      hook.reply = ({ body }) => ({
        body: {
          outputs: [
            copyOf(body.input),
            ...Object.values(body['outputs'] as Record<string, Record<string, KubeObject>>)
              .flatMap((objects) => Object.values(objects))
              .filter(({ metadata }) => metadata.name !== `${body.input.metadata.name}-copy`),
          ],
        },
      })
      await set({}, controller(), policy(), input('a'))
      const { metadata: of } = await stage.client.get(policy(), 'default/all')
      const output = await stage.client.get(secrets, 'default/a-copy')
      const owner = { apiVersion: 'test.example.com/v9', kind: 'Policy', name: 'all', uid: of.uid, controller: true }
      const forged = copied(output, {
        namespace: 'kube-public',
        name: 'forged',
        finalizers: ['example.com/stay'],
        ...(how === 'without an owner' ? {} : { ownerReferences: [owner] }),
      })
      const made = await stage.client.create(forged)
      await stage.pass(5)
      hook.calls.splice(0)
      await stage.apply(input('a', { more: 'data' }))
      await stage.pass(5)
      const sent = hook.calls.flatMap(({ body }) => JSON.stringify(body))
      expect(sent.length).toBe(1)
      expect(sent[0]).not.toContain('forged')
      const now = await stage.client.get(secrets, 'kube-public/forged')
      expect([now.metadata.ownerReferences, now.metadata.resourceVersion]).toEqual([
        made.metadata.ownerReferences,
        made.metadata.resourceVersion,
      ])
      const { status } = (await stage.client.get(policy(), 'default/all')) as KubeObject & { status: object }
      expect(status).toMatchObject({ outputs: { secrets: { total: 1 } } })
    },
  )
})

describe('the outputs of a MapController that is replaced by another', () => {
  const renamed = (): KubeObject => ({
    ...controller({
      replaces: ['copies'],
      outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }],
    }),
    metadata: { name: 'renamed' },
  })

  test('are taken over once it is deleted, without being recreated, and fields that the hook drops later go', async () => {
    hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), data: { a: 'MQ==', b: 'Mg==' } }] } })
    await set({}, controller(), policy(), input('a'))
    const before = await stage.client.get(secrets, 'default/a-copy')
    await stage.apply(renamed())
    await stage.pass(2)
    expect((await stage.client.get(secrets, 'default/a-copy')).metadata.resourceVersion).toBe(
      before.metadata.resourceVersion,
    )
    await stage.client.delete(mapControllers, 'copies')
    await stage.pass(3)
    hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), data: { a: 'MQ==' } }] } })
    await stage.apply(input('a', { changed: 'yes' }))
    await stage.pass(3)
    const after = await stage.client.get(secrets, 'default/a-copy')
    expect(after).toMatchObject({
      metadata: { uid: before.metadata.uid, annotations: { 'metacontroller.k8s.io/map-controller': 'renamed' } },
      data: { a: 'MQ==' },
    })
    expect(Object.keys(after.data as object)).toEqual(['a'])
    await stage.client.delete(configMaps, 'default/a')
    await stage.pass(3)
    expect(await names(secrets)).toEqual([])
  })
})
