// The finalizers of volumes, claims and attribute classes: kept while something uses them, removed afterwards.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { kind, Pod } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { ApiServer } from '@fairlead/apiserver'

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

test('keeps a claim while a pod that has not ended names it', async () => {
  const created = await client.create(claim('used'))
  expect(created.metadata.finalizers).toEqual(['kubernetes.io/pvc-protection'])
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'used' } }]
  const spec = { volumes, containers: [{ name: 'c', image: 'i' }] }
  await client.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', name: 'p' },
    spec,
  } as KubeObject)
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
