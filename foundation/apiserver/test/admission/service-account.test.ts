// The admission plugin ServiceAccount, and admission plugins that are switched off.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '@fairlead/kube'
import { TestApi } from '../support/api.ts'

const core = '/api/v1/namespaces/default'
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
const container = { name: 'c', image: 'i' }

let api: TestApi

beforeAll(async () => {
  api = await TestApi.start({
    enabledAdmission: ['ServiceAccount'],
    disabledAdmission: ['PodSecurity'],
    random: () => 0,
  })
  const accounts = `${core}/serviceaccounts`
  await api.post(accounts, { metadata: { name: 'default' }, imagePullSecrets: [{ name: 'registry' }] })
  await api.post(accounts, { metadata: { name: 'quiet' }, automountServiceAccountToken: false })
  await api.post(accounts, {
    metadata: { name: 'strict', annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
    secrets: [{ name: 'listed' }],
  })
})

afterAll(() => api[Symbol.asyncDispose]())

async function podWith(spec: JsonObject, metadata: JsonObject = {}): Promise<{ status: number; body: JsonObject }> {
  const pod = { metadata: { name: 'p', ...metadata }, spec: { containers: [container], ...spec } }
  return api.post(`${core}/pods?dryRun=All`, pod)
}

test('a pod gets the account default, its pull secrets, and its token in every container', async () => {
  const own = { ...container, name: 'own', volumeMounts: [{ name: 'v', mountPath }] }
  const { status, body } = await podWith({
    containers: [container, own],
    initContainers: [{ ...container, name: 'init' }],
    volumes: [{ name: 'v', emptyDir: {} }],
  })
  const mount = { name: 'kube-api-access-bbbbb', readOnly: true, mountPath }
  expect({ status, spec: body['spec'] }).toMatchObject({
    status: 201,
    spec: {
      serviceAccountName: 'default',
      serviceAccount: 'default',
      imagePullSecrets: [{ name: 'registry' }],
      containers: [{ volumeMounts: [mount] }, { volumeMounts: [{ name: 'v' }] }],
      initContainers: [{ volumeMounts: [mount] }],
      volumes: [
        { name: 'v' },
        {
          name: 'kube-api-access-bbbbb',
          projected: {
            defaultMode: 420,
            sources: [
              { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              {
                downwardAPI: {
                  items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
                },
              },
            ],
          },
        },
      ],
    },
  })
})

test.each([
  ['of the account', { serviceAccountName: 'quiet' }],
  ['of the pod', { automountServiceAccountToken: false }],
])('automountServiceAccountToken %s keeps the token out', async (_, spec) => {
  const { body } = await podWith(spec)
  expect(body['spec']).not.toHaveProperty('volumes')
})

test('automountServiceAccountToken of the pod comes before that of the account', async () => {
  const { body } = await podWith({ serviceAccountName: 'quiet', automountServiceAccountToken: true })
  expect(body['spec']).toHaveProperty('volumes')
})

const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
const secretVolume = (secretName: string): JsonObject => ({ volumes: [{ name: 'v', secret: { secretName } }] })

test.each([
  [
    { serviceAccountName: 'absent' },
    {},
    'error looking up service account default/absent: serviceaccount "absent" not found',
  ],
  [{ serviceAccountName: 'default' }, mirror, 'a mirror pod may not reference service accounts'],
  [secretVolume('s'), mirror, 'a mirror pod may not reference secrets'],
  [
    { serviceAccountName: 'strict', ...secretVolume('other') },
    {},
    'volume with secret.secretName="other" is not allowed because service account strict does not reference that secret',
  ],
  [
    { serviceAccountName: 'strict', imagePullSecrets: [{ name: 'r' }] },
    {},
    'imagePullSecrets[0].name="r" is not allowed because service account strict does not reference that imagePullSecret',
  ],
])('refuses %j with %j', async (spec, metadata, message) => {
  const { status, body } = await podWith(spec, metadata)
  expect({ status, message: body['message'] }).toEqual({ status: 403, message: `pods "p" is forbidden: ${message}` })
})

test('a strict account allows the secrets that it lists', async () => {
  expect((await podWith({ serviceAccountName: 'strict', ...secretVolume('listed') })).status).toBe(201)
})

test('a pod in a new namespace waits for its account', async () => {
  await api.post('/api/v1/namespaces', { metadata: { name: 'new' } })
  const created = api.post('/api/v1/namespaces/new/pods', {
    metadata: { name: 'p' },
    spec: { containers: [container] },
  })
  await api.post('/api/v1/namespaces/new/serviceaccounts', { metadata: { name: 'default' } })
  expect((await created).status).toBe(201)
})

test('a plugin that is switched off refuses nothing', async () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await api.post('/api/v1/namespaces', { metadata: { name: 'safe', labels } })
  await api.post('/api/v1/namespaces/safe/serviceaccounts', { metadata: { name: 'default' } })
  const pod = { metadata: { name: 'p' }, spec: { containers: [container], hostNetwork: true } }
  expect((await api.post('/api/v1/namespaces/safe/pods', pod)).status).toBe(201)
})
