// Admission by LimitRanges. Messages and defaults are those of kube-apiserver 1.35.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '@fairlead/kube'
import { failureOf, TestApi } from '../support/api.ts'
import type { Answer } from '../support/api.ts'

const pods = '/api/v1/namespaces/default/pods'
const limitRanges = '/api/v1/namespaces/default/limitranges'
const claims = '/api/v1/namespaces/default/persistentvolumeclaims'

let api: TestApi

beforeEach(async () => {
  api = await TestApi.start()
})
afterEach(() => api[Symbol.asyncDispose]())

async function limit(...limits: readonly JsonObject[]): Promise<void> {
  const { status, text } = await api.post(limitRanges, { metadata: { name: 'limits' }, spec: { limits } })
  expect(status, text).toBe(201)
}

function pod(resources: JsonObject, more: JsonObject = {}): JsonObject {
  return { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', resources }], ...more } }
}

function refused(answer: Answer): unknown {
  const { status, message } = failureOf(answer)
  return [status, message]
}

test('sets the default requests and limits of containers and names them in an annotation', async () => {
  await limit({ type: 'Container', default: { cpu: '500m', memory: '1Gi' }, defaultRequest: { cpu: '100m' } })
  const { body } = await api.post(
    pods,
    pod({ requests: { memory: '64Mi' } }, { initContainers: [{ name: 'init', image: 'i' }] }),
  )
  const { containers, initContainers } = body['spec'] as JsonObject as Record<string, JsonObject[]>
  const annotations = body.metadata['annotations']
  expect([containers![0]!['resources'], initContainers![0]!['resources'], annotations]).toEqual([
    { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '100m', memory: '64Mi' } },
    { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '100m', memory: '1Gi' } },
    {
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c; ' +
        'cpu, memory request for init container init; cpu, memory limit for init container init',
    },
  ])
  expect((body['status'] as JsonObject)['qosClass']).toBe('Burstable')
})

test('leaves the pod unchanged when it sets everything that has a default', async () => {
  await limit({ type: 'Container', default: { cpu: '500m' }, defaultRequest: { cpu: '100m' } })
  const { body } = await api.post(pods, pod({ requests: { cpu: '1m' }, limits: { cpu: '2m' } }))
  expect(body.metadata['annotations']).toBeUndefined()
})

test.each<[string, JsonObject, JsonObject, string]>([
  [
    'min of requests',
    { type: 'Container', min: { cpu: '100m' } },
    { requests: { cpu: '50m' } },
    'minimum cpu usage per Container is 100m, but request is 50m',
  ],
  [
    'max of limits',
    { type: 'Container', max: { memory: '1Gi' } },
    { limits: { memory: '2048Mi' } },
    'maximum memory usage per Container is 1Gi, but limit is 2Gi',
  ],
  [
    'ratio',
    { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
    { requests: { cpu: '100m' }, limits: { cpu: '250m' } },
    'cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000',
  ],
  [
    'ratio without a request',
    { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
    {},
    'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
  ],
  [
    'min of a pod without requests',
    { type: 'Pod', min: { cpu: '1' } },
    {},
    'minimum cpu usage per Pod is 1.  No request is specified',
  ],
  [
    'max of a pod without limits',
    { type: 'Pod', max: { cpu: '1' } },
    {},
    'maximum cpu usage per Pod is 1.  No limit is specified',
  ],
  [
    'several bounds at once',
    { type: 'Pod', max: { cpu: '1', memory: '1Gi' } },
    { limits: { cpu: '2', memory: '2Gi' } },
    '[maximum cpu usage per Pod is 1, but limit is 2, maximum memory usage per Pod is 1Gi, but limit is 2Gi]',
  ],
])('refuses a pod beyond the %s', async (_title, item, resources, message) => {
  await limit(item)
  expect(refused(await api.post(pods, pod(resources)))).toEqual([403, `pods "p" is forbidden: ${message}`])
})

test('sums containers and sidecars, and takes the largest init container, for the bounds of a pod', async () => {
  await limit({ type: 'Pod', max: { cpu: '3' } })
  const container = (name: string, cpu: string, more: JsonObject = {}): JsonObject => ({
    name,
    image: 'i',
    resources: { limits: { cpu } },
    ...more,
  })
  const spec = (init: string): JsonObject => ({
    containers: [container('a', '1'), container('b', '1')],
    initContainers: [container('sidecar', '1', { restartPolicy: 'Always' }), container('init', init)],
  })
  expect(refused(await api.post(pods, { metadata: { name: 'p' }, spec: spec('2500m') }))).toEqual([
    403,
    'pods "p" is forbidden: maximum cpu usage per Pod is 3, but limit is 3500m',
  ])
  expect((await api.post(pods, { metadata: { name: 'p' }, spec: spec('2') })).status).toBe(201)
})

test('refuses a claim beyond the bounds of storage, on creation and on update', async () => {
  await limit({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } })
  const claim = (storage: string): JsonObject => ({
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  })
  const found = [refused(await api.post(claims, claim('3Gi'))), refused(await api.post(claims, claim('500Mi')))]
  expect(found).toEqual([
    [
      403,
      'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi',
    ],
    [
      403,
      'persistentvolumeclaims "c" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi',
    ],
  ])
  expect((await api.post(claims, claim('2Gi'))).status).toBe(201)
})

test('follows LimitRanges as they change, and only in their namespace', async () => {
  await limit({ type: 'Container', min: { cpu: '1' } })
  await api.namespace('other')
  const small = pod({ requests: { cpu: '1m' } })
  expect((await api.post('/api/v1/namespaces/other/pods', small)).status).toBe(201)
  expect((await api.post(pods, small)).status).toBe(403)
  await api.delete(`${limitRanges}/limits`)
  expect((await api.post(pods, small)).status).toBe(201)
  await limit({ type: 'Container', min: { cpu: '1' } })
  expect((await api.merge(`${pods}/p`, { metadata: { labels: { a: 'b' } } })).status).toBe(200)
})
