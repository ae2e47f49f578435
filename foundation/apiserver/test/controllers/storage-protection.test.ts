// The finalizers of volumes, claims and attribute classes: kept while something uses them, removed afterwards.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Client, kind, Pod } from '@fairlead/client'
import type { WatchEvent } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { ApiServer, startControllers } from '@fairlead/apiserver'
import type { Registry } from '@fairlead/apiserver'
import { RecordingTransport } from '../../../../test/support/recorded-client.ts'
import { until } from '../../../../test/support/until.ts'

const Claim = kind<KubeObject>('v1', 'PersistentVolumeClaim', { plural: 'persistentvolumeclaims', namespaced: true })
const Volume = kind<KubeObject>('v1', 'PersistentVolume', { plural: 'persistentvolumes', namespaced: false })
const AttributesClass = kind<KubeObject>('storage.k8s.io/v1', 'VolumeAttributesClass', {
  plural: 'volumeattributesclasses',
  namespaced: false,
})

let server: ApiServer
let client: Client

beforeEach(async () => {
  server = await ApiServer.start({ controllers: ['pvc-protection', 'pv-protection', 'vac-protection'] })
  client = server.client()
})
afterEach(() => server[Symbol.asyncDispose]())

function claim(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace: 'default', name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  } as KubeObject
}

function podWith(claimName: string): KubeObject {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName } }]
  const spec = { volumes, containers: [{ name: 'c', image: 'i' }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'default', name: 'p' }, spec } as KubeObject
}

test('keeps a claim while a pod that has not ended names it', async () => {
  const created = await client.create(claim('used'))
  expect(created.metadata.finalizers).toEqual(['kubernetes.io/pvc-protection'])
  await client.create(podWith('used'))
  await client.create(claim('free'))
  await client.delete(Claim, 'default/used')
  await client.delete(Claim, 'default/free')
  await client.waitForDeletion(Claim, 'default/free')
  expect((await client.get(Claim, 'default/used')).metadata.finalizers).toEqual(['kubernetes.io/pvc-protection'])
  await client.delete(Pod, 'default/p')
  await client.waitForDeletion(Claim, 'default/used')
})

test('deletes a volume that is not bound, and a class that no claim names any more', async () => {
  await client.create({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/d' } },
  } as KubeObject)
  await client.delete(Volume, 'v')
  await client.waitForDeletion(Volume, 'v')
  await client.create({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name: 'fast' },
    driverName: 'd.example.com',
    parameters: { iops: '5' },
  } as KubeObject)
  await client.create(claim('c', { volumeAttributesClassName: 'fast' }))
  await client.delete(AttributesClass, 'fast')
  await client.delete(Claim, 'default/c')
  await client.waitForDeletion(AttributesClass, 'fast')
})

test('keeps a claim whose pod the cache has not seen yet', async () => {
  await using bare = await ApiServer.start({ controllers: false })
  client = bare.client()
  const transport = new LatePods(bare.transport())
  await using controllers = await startControllers({
    client: new Client({ transport }),
    resources: bare.registry as Registry,
    controllers: ['pvc-protection'],
  })
  expect(controllers).toBeDefined()
  await client.create(claim('used'))
  const lists = () => transport.requests.filter((request) => request === 'GET /api/v1/namespaces/default/pods').length
  // A pod passes that names nothing: the watch is open.
  await client.create(claim('free'))
  await client.delete(Claim, 'default/free')
  await client.waitForDeletion(Claim, 'default/free')
  const before = lists()
  using hold = transport.hold()
  await client.create(podWith('used'))
  await client.delete(Claim, 'default/used')
  const released = 'PUT /api/v1/namespaces/default/persistentvolumeclaims/used'
  await until('the controller has decided', () => lists() > before || transport.requests.includes(released))
  expect(transport.requests).not.toContain(released)
  expect((await client.get(Claim, 'default/used')).metadata.finalizers).toEqual(['kubernetes.io/pvc-protection'])
  hold[Symbol.dispose]()
  await client.delete(Pod, 'default/p')
  await client.waitForDeletion(Claim, 'default/used')
})

/** Holds the events of pods back when a test says so. */
class LatePods extends RecordingTransport {
  #held: PromiseWithResolvers<void> | undefined

  hold(): Disposable {
    const held = (this.#held = Promise.withResolvers())
    return { [Symbol.dispose]: () => held.resolve() }
  }

  override async watch(request: Parameters<RecordingTransport['watch']>[0]): ReturnType<RecordingTransport['watch']> {
    const watch = await super.watch(request)
    if ('refused' in watch || !request.path.endsWith('/pods')) return watch
    return { events: this.#late(watch.events) }
  }

  async *#late(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchEvent> {
    for await (const event of events) {
      await this.#held?.promise
      yield event
    }
  }
}
