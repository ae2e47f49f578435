// Admission of the subresources of Pods that create something else: the Binding and the Eviction, as webhooks and
// policies receive them.
import { AsyncDisposableStack } from '@fairlead/kube'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '@fairlead/kube'
import { failureOf, TestApi } from '../support/api.ts'
import { patchResponse, reviewAnswer, WebhookServer } from '../support/webhook-server.ts'
import type { WebhookAnswer } from '../support/webhook-server.ts'

const pods = '/api/v1/namespaces/default/pods'
const admission = '/apis/admissionregistration.k8s.io/v1'
const mergePatch = 'application/merge-patch+json'
const everyWrite = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }]

let api: TestApi
let resources: AsyncDisposableStack

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  api = resources.use(await TestApi.start())
  await api.post(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } })
})

afterEach(() => resources.disposeAsync())

/** Installs a webhook for every write. */
async function install(
  kind: 'Mutating' | 'Validating',
  respond: (review: JsonObject) => WebhookAnswer,
): Promise<WebhookServer> {
  const server = resources.use(await WebhookServer.start(respond))
  const { status, text } = await api.post(`${admission}/${kind.toLowerCase()}webhookconfigurations`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: 'hooks' },
    webhooks: [
      {
        name: 'check.example.com',
        clientConfig: { url: server.url, caBundle: server.caBundle },
        rules: everyWrite,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  expect(status, text).toBe(201)
  return server
}

const allow = (review: JsonObject): WebhookAnswer => reviewAnswer(review, { allowed: true })

/** The requests that a webhook received: operation, resource, kind, and what of the object tells it apart. */
function requests({ calls }: WebhookServer): readonly unknown[] {
  return calls.map(({ review }) => {
    const request = review['request'] as Record<string, JsonObject | string | null>
    const { operation, name, kind, resource, subResource, object, oldObject, options } = request
    const { kind: objectKind, metadata } = object as JsonObject & { metadata: JsonObject }
    return {
      operation,
      name,
      kind: (kind as JsonObject)['kind'],
      resource: [(resource as JsonObject)['resource'], subResource],
      object: [objectKind, metadata['name'], metadata['namespace']],
      oldObject,
      options: (options as JsonObject)['kind'],
    }
  })
}

function bind(node = 'n1', path = `${pods}/p/binding`): ReturnType<TestApi['post']> {
  return api.post(path, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'p' },
    target: { kind: 'Node', name: node },
  })
}

function evict(): ReturnType<TestApi['post']> {
  return api.post(`${pods}/p/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'p' },
    deleteOptions: { gracePeriodSeconds: 0 },
  })
}

async function nodeOfPod(): Promise<unknown> {
  return ((await api.get(`${pods}/p`)).body['spec'] as JsonObject)['nodeName']
}

test.each(['Mutating', 'Validating'] as const)(
  '%s webhooks receive a binding once, as the creation of the Binding',
  async (kind) => {
    const server = await install(kind, allow)
    expect((await bind()).status).toBe(201)
    expect(requests(server)).toEqual([
      {
        operation: 'CREATE',
        name: 'p',
        kind: 'Binding',
        resource: ['pods', 'binding'],
        object: ['Binding', 'p', 'default'],
        oldObject: null,
        options: 'CreateOptions',
      },
    ])
  },
)

test('the older path of bindings reaches webhooks as the creation of a Binding', async () => {
  const server = await install('Validating', allow)
  expect((await bind('n1', '/api/v1/namespaces/default/bindings')).status).toBe(201)
  expect(requests(server)).toEqual([
    {
      operation: 'CREATE',
      name: 'p',
      kind: 'Binding',
      resource: ['bindings', undefined],
      object: ['Binding', 'p', 'default'],
      oldObject: null,
      options: 'CreateOptions',
    },
  ])
})

test('a mutating webhook can change the node of a binding', async () => {
  await install('Mutating', (review) =>
    reviewAnswer(review, patchResponse([{ op: 'replace', path: '/target/name', value: 'n2' }])),
  )
  expect((await bind('n1')).status).toBe(201)
  expect(await nodeOfPod()).toBe('n2')
})

test('a webhook that refuses a binding leaves the pod without a node', async () => {
  await install('Validating', (review) => reviewAnswer(review, { allowed: false, status: { message: 'full' } }))
  expect(failureOf(await bind())).toMatchObject({
    message: 'admission webhook "check.example.com" denied the request: full',
  })
  expect(await nodeOfPod()).toBe(undefined)
})

test('a policy on pods/binding decides by the target of the Binding', async () => {
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/binding'] }
  const answers = [
    await api.post(`${admission}/validatingadmissionpolicies`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "object.target.name != 'reserved'", message: 'the node is reserved' }],
      },
    }),
    await api.post(`${admission}/validatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'] },
    }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([201, 201])
  expect(failureOf(await bind('reserved'))['message']).toMatch(/denied request: the node is reserved$/)
  expect((await bind('open')).status).toBe(201)
  expect(await nodeOfPod()).toBe('open')
})

test('a dry run of a binding reaches webhooks and does not bind the pod', async () => {
  const server = await install('Validating', allow)
  expect((await bind('n1', `${pods}/p/binding?dryRun=All`)).status).toBe(201)
  expect(server.calls.map(({ review }) => (review['request'] as JsonObject)['dryRun'])).toEqual([true])
  expect(await nodeOfPod()).toBe(undefined)
})

test.each(['Mutating', 'Validating'] as const)(
  '%s webhooks receive an eviction once, as the creation of the Eviction',
  async (kind) => {
    const server = await install(kind, allow)
    expect((await evict()).status).toBe(201)
    expect(requests(server)).toEqual([
      {
        operation: 'CREATE',
        name: 'p',
        kind: 'Eviction',
        resource: ['pods', 'eviction'],
        object: ['Eviction', 'p', 'default'],
        oldObject: null,
        options: 'CreateOptions',
      },
    ])
    expect((await api.get(`${pods}/p`)).status).toBe(404)
  },
)

test('the status update of a disruption budget reaches webhooks as a request of the server, the eviction as one of the user', async () => {
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
  await api.merge(`${pods}/p`, { metadata: { labels: { app: 'x' } } })
  await api.send('PATCH', `${pods}/p/status`, { status: { phase: 'Running' } }, { contentType: mergePatch })
  await api.post(budgets, { metadata: { name: 'b' }, spec: { selector: { matchLabels: { app: 'x' } } } })
  const status = { observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 0, expectedPods: 1 }
  await api.send('PATCH', `${budgets}/b/status`, { status }, { contentType: mergePatch })
  const server = await install('Validating', allow)
  expect((await evict()).status).toBe(201)
  const received = server.calls.map(({ review }) => {
    const { operation, resource, subResource, userInfo } = review['request'] as Record<string, JsonObject>
    return [operation, resource!['resource'], subResource, userInfo!['username']]
  })
  expect(received).toEqual([
    ['CREATE', 'pods', 'eviction', 'admin'],
    ['UPDATE', 'poddisruptionbudgets', 'status', 'system:apiserver'],
  ])
})

test('a binding in another namespace than that of the path is refused', async () => {
  const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p', namespace: 'other' }, target: { name: 'n' } }
  expect(failureOf(await api.post(`${pods}/p/binding`, body))).toMatchObject({
    status: 400,
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  })
})
