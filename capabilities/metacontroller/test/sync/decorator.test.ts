// DecoratorControllers on an embedded server with a real hook.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import {
  conditionOf,
  configMaps,
  decorator,
  fleet,
  fleets,
  hook,
  live,
  requestOf,
  set,
  ship,
  ships,
  stage,
  useHook,
} from './fleet.ts'

useHook()

const finalizer = 'metacontroller.io/decoratorcontroller-flags'

/** Returns a DecoratorController of fleets with the annotation `flag`. */
function controller(spec: object = {}, hooks: object = {}): KubeObject {
  return {
    ...decorator,
    metadata: { name: 'flags' },
    spec: {
      resources: [
        {
          apiVersion: 'harbour.example.com/v1',
          resource: 'fleets',
          annotationSelector: { matchExpressions: [{ key: 'flag', operator: 'Exists' }] },
        },
      ],
      attachments: [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }],
      hooks: { sync: { webhook: { url: `${hook.url}/sync` } }, ...hooks },
      ...spec,
    },
  } as unknown as KubeObject
}

const flagged = (flag: string, labels: object = {}): KubeObject => fleet([], {}, { annotations: { flag }, labels })
const attach = (): void => {
  hook.reply = (call) => {
    const { object } = requestOf(call)
    const flag = object.metadata.annotations?.['flag'] ?? ''
    return {
      body: {
        labels: { decorated: 'yes', old: null },
        annotations: { seen: flag },
        status: { flag },
        attachments: [ship('flag', flag)],
      },
    }
  }
}

describe('an object that a DecoratorController selects', () => {
  test('gets labels, annotations, status and attachments, and nothing more when all is there', async () => {
    attach()
    await set({}, controller(), flagged('red', { old: 'yes' }), fleet([], {}, { name: 'other' }))
    const { metadata, status } = await live()
    const { flag } = await ships()
    expect({ labels: metadata.labels, annotations: metadata.annotations, status, data: flag?.data }).toEqual({
      labels: { decorated: 'yes' },
      annotations: { flag: 'red', seen: 'red' },
      status: { flag: 'red' },
      data: { flag: 'red' },
    })
    expect(flag?.metadata.annotations?.['metacontroller.k8s.io/decorator-controller']).toBe('flags')
    expect(flag?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Fleet', controller: true })
    expect(new Set(hook.calls.map((call) => requestOf(call).object.metadata.name))).toEqual(new Set(['north']))
    const before = metadata.resourceVersion
    await stage.stopControllers()
    await stage.startControllers()
    await stage.pass(5)
    expect((await live()).metadata.resourceVersion).toBe(before)
  })

  test('keeps its status when the response has none, and owned objects that other controllers made', async () => {
    await set({}, controller())
    hook.reply = () => ({ body: { attachments: [] } })
    await stage.apply(flagged('red'))
    const parent = await live()
    await stage.client.patch(fleets, 'default/north', { merge: { status: { kept: true } } }, { subresource: 'status' })
    const owner = {
      apiVersion: 'harbour.example.com/v1',
      kind: 'Fleet',
      name: 'north',
      uid: parent.metadata.uid,
      controller: true,
    }
    await stage.client.create({
      ...ship('foreign'),
      metadata: { name: 'foreign', namespace: 'default', ownerReferences: [owner] },
    } as unknown as KubeObject)
    await stage.pass(2)
    expect([(await live()).status, Object.keys(await ships())]).toEqual([{ kept: true }, ['foreign']])
  })

  test('is finalized when its annotation goes, and when it is deleted', async () => {
    hook.reply = (call) => {
      const { finalizing } = requestOf(call)
      return { body: finalizing ? { attachments: [], finalized: true } : { attachments: [ship('flag')] } }
    }
    await set({}, controller({}, { finalize: { webhook: { url: `${hook.url}/finalize` } } }), flagged('red'))
    expect([(await live()).metadata.finalizers, Object.keys(await ships())]).toEqual([[finalizer], ['flag']])
    await stage.client.patch(fleets, 'default/north', { merge: { metadata: { annotations: { flag: null } } } })
    await stage.pass(2)
    expect([(await live()).metadata.finalizers, await ships()]).toEqual([undefined, {}])
    await stage.client.patch(fleets, 'default/north', { merge: { metadata: { annotations: { flag: 'blue' } } } })
    await stage.pass(2)
    expect(Object.keys(await ships())).toEqual(['flag'])
    await stage.client.delete(fleets, 'default/north')
    await stage.pass(3)
    expect(await stage.client.find(fleets, 'default/north')).toBeUndefined()
    expect(await stage.client.find(configMaps, 'default/flag')).toBeUndefined()
  })

  test('may be of a kind without a status subresource, or of a built-in kind', async () => {
    hook.reply = () => ({ body: { labels: { decorated: 'yes' }, attachments: [] } })
    const resources = [
      { apiVersion: 'v1', resource: 'serviceaccounts', labelSelector: { matchLabels: { deco: 'yes' } } },
    ]
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'sa', namespace: 'default', labels: { deco: 'yes' } },
    }
    await set({}, controller({ resources }), account as KubeObject)
    const { metadata } = await stage.client.get({ apiVersion: 'v1', kind: 'ServiceAccount' }, 'default/sa')
    expect(metadata.labels).toEqual({ deco: 'yes', decorated: 'yes' })
    expect(await conditionOf('Ready', decorator, 'flags')).toMatchObject({ status: 'True' })
  })

  test('is left alone by a DecoratorController that has only a finalize hook, until it is deleted', async () => {
    hook.reply = () => ({ body: { finalized: true } })
    const spec = { hooks: { finalize: { webhook: { url: `${hook.url}/finalize` } } } }
    await set({}, controller(spec), flagged('red'))
    expect([(await live()).metadata.finalizers, hook.calls.length]).toEqual([[finalizer], 0])
    await stage.client.delete(fleets, 'default/north')
    await stage.pass(2)
    expect(await stage.client.find(fleets, 'default/north')).toBeUndefined()
    expect(hook.calls.map(({ path }) => path)).toEqual(['/finalize'])
  })

  test('is left alone by a DecoratorController with a rolling update method', async () => {
    const attachments = [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'RollingInPlace' } }]
    await set({}, controller({ attachments }), flagged('red'))
    expect(await conditionOf('Accepted', decorator, 'flags')).toMatchObject({ reason: 'UnsupportedUpdateStrategy' })
    expect(hook.calls).toEqual([])
  })
})
