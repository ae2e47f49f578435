// Admission webhooks over real HTTPS: the reviews that they receive, the effects of their responses, and failed calls.
import { AsyncDisposableStack } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeCertificates } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { ownAddress } from '../../../../test/support/own-address.ts'
import { failureOf, TestApi } from '../support/api.ts'
import { patchResponse, reviewAnswer, WebhookServer } from '../support/webhook-server.ts'
import type { WebhookAnswer } from '../support/webhook-server.ts'
import { freePort } from '../../../../test/support/free-port.ts'

let api: TestApi
let servers: AsyncDisposableStack

beforeEach(async () => {
  servers = new AsyncDisposableStack()
  api = servers.use(await TestApi.start())
})

afterEach(() => servers.disposeAsync())

async function serve(answer: (review: JsonObject, path: string) => WebhookAnswer): Promise<WebhookServer> {
  return servers.use(await WebhookServer.start(answer))
}

const configMaps = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }

function webhook(server: WebhookServer, more: JsonObject = {}): JsonObject {
  return {
    name: 'check.example.com',
    clientConfig: { url: server.url, caBundle: server.caBundle },
    rules: [configMaps],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 5,
    ...more,
  }
}

async function install(kind: 'Mutating' | 'Validating', ...webhooks: JsonObject[]): Promise<void> {
  const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`
  const { status, text } = await api.post(path, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: `hooks-${kind.toLowerCase()}` },
    webhooks,
  })
  expect(status, text).toBe(201)
}

const path = '/api/v1/namespaces/default/configmaps'
const configMap = (name: string, data: JsonObject = { a: '1' }): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
})

describe('the AdmissionReview of a webhook', () => {
  test('has every field of the request', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await install('Validating', webhook(server))
    await api.post(`${path}?fieldManager=me&dryRun=All`, configMap('one'))
    const [call] = server.calls
    const review = call!.review as { request: JsonObject & { object: JsonObject } }
    expect(call!.path).toBe('/?timeout=5s')
    expect(review).toEqual({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name: 'one',
        namespace: 'default',
        operation: 'CREATE',
        userInfo: { username: 'admin', groups: expect.arrayContaining(['system:masters']) },
        object: expect.objectContaining({ kind: 'ConfigMap', data: { a: '1' } }),
        oldObject: null,
        dryRun: true,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', dryRun: ['All'], fieldManager: 'me' },
      },
    })
    expect((review.request.object['metadata'] as JsonObject)['uid']).toEqual(expect.any(String))
  })

  test('has the old object for updates and deletions', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await api.post(path, configMap('old'))
    await install('Validating', webhook(server, { rules: [{ ...configMaps, operations: ['*'] }] }))
    await api.merge(`${path}/old`, { data: { a: '2' } })
    await api.delete(`${path}/old`, { propagationPolicy: 'Background' })
    const seen = server.calls.map(({ review }) => {
      const { operation, object, oldObject, options } = review['request'] as Record<string, JsonObject | null>
      return [operation, object?.['data'], oldObject?.['data'], options?.['kind'], options?.['propagationPolicy']]
    })
    expect(seen).toEqual([
      ['UPDATE', { a: '2' }, { a: '1' }, 'UpdateOptions', undefined],
      ['DELETE', undefined, { a: '2' }, 'DeleteOptions', 'Background'],
    ])
  })

  test('a mutating webhook is called once for a deletion', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await api.post(path, configMap('deleted'))
    await install('Mutating', webhook(server, { rules: [{ ...configMaps, operations: ['DELETE'] }] }))
    const { status } = await api.delete(`${path}/deleted`)
    expect([status, server.calls.length]).toEqual([200, 1])
  })
})

describe('the connection to a webhook', () => {
  // Go's url.Parse, path.Join("/", path) of rest.Request and URL.EscapedPath: envtest writes `https://host:port//path`.
  test.each([
    ['', '/'],
    ['/', '/'],
    ['//x', '/x'],
    ['/x/', '/x'],
    ['/x//y///z', '/x/y/z'],
    ['/x/./y', '/x/y'],
    ['/x/../y', '/y'],
    ['/../../y', '/y'],
    ['/x//../y', '/y'],
    ['/a%20b', '/a%20b'],
    ['/a%2Fb', '/a/b'],
    ['/a%2f%2e%2e%2fb', '/b'],
    ["/a!(b)*'", '/a%21%28b%29%2A%27'],
    ['/$&+,:;=@~', '/$&+,:;=@~'],
    ['/ü/%ff', '/%C3%BC/%FF'],
  ])('the path %j of a URL is called as %s', async (configured, called) => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await install('Validating', webhook(server, { clientConfig: clientConfig(server, configured) }))
    expect((await api.post(path, configMap('x'))).status).toBe(201)
    expect(server.calls.map((call) => call.path)).toEqual([`${called}?timeout=5s`])
  })

  const clientConfig = (server: WebhookServer, at: string): JsonObject => ({
    url: `${server.url}${at}`,
    caBundle: server.caBundle,
  })

  test('the message of a failed call has the cleaned path', async () => {
    const server = await serve(() => ({ code: 404, text: 'x' }))
    const unreachable = { url: `https://127.0.0.1:${await freePort()}//x/` }
    await install('Validating', webhook(server, { clientConfig: unreachable }))
    const { message } = failureOf(await api.post(path, configMap('x'))) as { message: string }
    expect(message).toContain(`Post "${unreachable.url.replace('//x/', '/x')}?timeout=5s": dial tcp`)
  })

  test('a caBundle may be the serving certificate itself, without its authority', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await install('Validating', webhook(server, { clientConfig: { url: server.url, caBundle: server.certificate } }))
    expect((await api.post(path, configMap('x'))).status).toBe(201)
  })

  test('a caBundle of another server is no trust', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    const { server: other } = await makeCertificates({ clock: systemClock })
    const caBundle = Buffer.from(other.cert).toString('base64')
    await install('Validating', webhook(server, { clientConfig: { url: server.url, caBundle } }))
    const { message } = failureOf(await api.post(path, configMap('x'))) as { message: string }
    expect(message).toContain('x509: certificate signed by unknown authority')
  })
})

describe('the requests that a webhook matches', () => {
  const rule = (more: JsonObject): JsonObject => ({ rules: [{ ...configMaps, operations: ['*'], ...more }] })
  const cases: [string, JsonObject, boolean][] = [
    ['all resources', rule({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }), true],
    ['all resources and their subresources', rule({ resources: ['*/*'] }), true],
    ['another resource', rule({ resources: ['secrets'] }), false],
    ['another version', { ...rule({ apiVersions: ['v2'] }) }, false],
    ['a subresource only', rule({ resources: ['configmaps/status'] }), false],
    ['namespaced scope', rule({ scope: 'Namespaced' }), true],
    ['cluster scope', rule({ scope: 'Cluster' }), false],
    ['another operation', rule({ operations: ['DELETE'] }), false],
    [
      'namespaces that match',
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } } },
      true,
    ],
    ['namespaces that do not', { namespaceSelector: { matchLabels: { team: 'x' } } }, false],
    ['objects that match', { objectSelector: { matchLabels: { app: 'x' } } }, true],
    ['objects that do not', { objectSelector: { matchLabels: { app: 'y' } } }, false],
    ['no rule at all', { rules: [] }, false],
    ['conditions that hold', { matchConditions: [{ name: 'a', expression: "object.metadata.name == 'm'" }] }, true],
    [
      'a condition that does not',
      { matchConditions: [{ name: 'a', expression: "request.operation == 'DELETE'" }] },
      false,
    ],
    [
      'a condition that fails, under Ignore',
      { failurePolicy: 'Ignore', matchConditions: [{ name: 'a', expression: 'object.nope == 1' }] },
      false,
    ],
  ]
  test.each(cases)('%s', async (_name, more, isAsked) => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await install('Validating', webhook(server, more))
    const object = configMap('m')
    const { status } = await api.post(path, { ...object, metadata: { name: 'm', labels: { app: 'x' } } })
    expect([status, server.calls.length]).toEqual([201, isAsked ? 1 : 0])
  })

  test('configurations of admission are exempt', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: false }))
    const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }
    await install('Validating', webhook(server, { rules: [everything] }))
    const { status } = await api.delete(
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks-validating',
    )
    expect([status, server.calls.length]).toEqual([200, 0])
  })

  test('a matchCondition that fails refuses the request', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await install('Validating', webhook(server, { matchConditions: [{ name: 'a', expression: 'object.nope == 1' }] }))
    expect(failureOf(await api.post(path, configMap('m')))).toEqual({
      status: 403,
      reason: 'Forbidden',
      message: `configmaps "m" is forbidden: expression 'object.nope == 1' resulted in error: no such key: nope`,
      details: { name: 'm', kind: 'configmaps' },
    })
  })

  test('matchPolicy Equivalent sends the object in the version of the rule', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    const autoscalers = {
      apiGroups: ['autoscaling'],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['horizontalpodautoscalers'],
    }
    await install('Validating', webhook(server, { rules: [autoscalers] }))
    await api.post('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers', {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'h' },
      spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } },
    })
    const { kind, requestKind, object } = server.calls[0]!.review['request'] as Record<string, JsonObject>
    expect([kind!['version'], requestKind!['version'], object!['apiVersion']]).toEqual(['v1', 'v2', 'autoscaling/v1'])
  })
})

describe('responses of validating webhooks', () => {
  const refusals: [string, JsonObject, JsonObject][] = [
    [
      'with a message',
      { allowed: false, status: { message: 'not today' } },
      { status: 400, message: 'admission webhook "check.example.com" denied the request: not today' },
    ],
    [
      'with a code and a reason',
      { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'no' } },
      { status: 403, reason: 'Forbidden', message: 'admission webhook "check.example.com" denied the request: no' },
    ],
    [
      'without a word',
      { allowed: false },
      { status: 400, message: 'admission webhook "check.example.com" denied the request without explanation' },
    ],
    [
      'with a reason only',
      { allowed: false, status: { code: 200, status: 'Success', reason: 'Gone' } },
      { status: 400, reason: 'Gone', message: 'admission webhook "check.example.com" denied the request: Gone' },
    ],
  ]
  test.each(refusals)('a refusal %s reaches the client', async (_name, response, expected) => {
    const server = await serve((review) => reviewAnswer(review, response))
    await install('Validating', webhook(server))
    expect(failureOf(await api.post(path, configMap('x')))).toEqual(expected)
    expect((await api.get(`${path}/x`)).status).toBe(404)
  })

  test('a patch may be a list of bytes, as kube-rs sends it', async () => {
    const patch = [...Buffer.from('[{"op":"add","path":"/data","value":{"a":"b"}}]')]
    const server = await serve((review) => reviewAnswer(review, { allowed: true, patchType: 'JSONPatch', patch }))
    await install('Mutating', webhook(server))
    expect((await api.post(path, configMap('x'))).body['data']).toEqual({ a: 'b' })
  })

  // The messages of kube-apiserver 1.35.4.
  test.each<[string, JsonObject]>([
    ['number 300 into Go struct field AdmissionResponse.response.patch of type uint8', { patch: [300] }],
    ['string into Go struct field AdmissionResponse.response.patch of type uint8', { patch: ['x'] }],
    ['number into Go struct field AdmissionResponse.response.patch of type []uint8', { patch: 5 }],
    ['string into Go struct field AdmissionResponse.response.allowed of type bool', { allowed: 'yes' }],
    ['string into Go struct field AdmissionResponse.response.warnings of type []string', { warnings: 'w' }],
    ['number into Go struct field AdmissionResponse.response.warnings of type string', { warnings: [5] }],
    ['string into Go struct field AdmissionResponse.response.status of type v1.Status', { status: 'bad' }],
    ['string into Go struct field Status.response.status.code of type int32', { status: { code: 'x' } }],
    ['number into Go struct field Status.response.status.message of type string', { status: { message: 5 } }],
    [
      'number into Go struct field AdmissionResponse.response.auditAnnotations of type string',
      { auditAnnotations: { a: 1 } },
    ],
    [
      'string into Go struct field StatusDetails.response.status.details.retryAfterSeconds of type int32',
      { status: { details: { retryAfterSeconds: '5' } } },
    ],
  ])('a response with a wrong type fails the call: cannot unmarshal %s', async (expected, response) => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true, ...response }))
    await install('Mutating', webhook(server))
    expect(failureOf(await api.post(path, configMap('x')))).toMatchObject({
      status: 500,
      message: `Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: json: cannot unmarshal ${expected}`,
    })
  })

  test('warnings of a webhook reach the client', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true, warnings: ['old "form"'] }))
    await install('Validating', webhook(server))
    const { status, headers } = await api.post(path, configMap('x'))
    expect([status, headers['warning']]).toEqual([201, ['299 - "old \\"form\\""']])
  })

  test('webhooks are called in parallel, and the refusal of the first in order counts', async () => {
    let waiting = 0
    let release: (() => void) | undefined
    const both = new Promise<void>((resolve) => (release = resolve))
    const server = servers.use(
      await WebhookServer.start(async (review, at) => {
        if (++waiting === 2) release!()
        await both
        return reviewAnswer(review, { allowed: false, status: { message: at } })
      }),
    )
    const at = (name: string): JsonObject =>
      webhook(server, {
        name: `${name}.example.com`,
        clientConfig: { url: `${server.url}/${name}`, caBundle: server.caBundle },
      })
    await install('Validating', at('one'), at('two'))
    const { message } = failureOf(await api.post(path, configMap('x'))) as { message: string }
    expect(message).toBe('admission webhook "one.example.com" denied the request: /one?timeout=5s')
  })
})

describe('failures of webhooks', () => {
  const failed = (reason: string): JsonObject => ({
    status: 500,
    reason: 'InternalError',
    message: `Internal error occurred: failed calling webhook "check.example.com": ${reason}`,
    details: { causes: [{ message: `failed calling webhook "check.example.com": ${reason}` }] },
  })
  const answers: [string, WebhookAnswer, string][] = [
    ['no answer in time', 'never', 'failed to call webhook: Post "URL/?timeout=1s": context deadline exceeded'],
    [
      'a broken server',
      { code: 500, text: 'boom' },
      'failed to call webhook: an error on the server ("boom") has prevented the request from succeeding',
    ],
    [
      'no such path',
      { code: 404, text: 'x' },
      'failed to call webhook: the server could not find the requested resource',
    ],
    ['no response', { kind: 'AdmissionReview' }, 'received invalid webhook response: webhook response was absent'],
    [
      'a patch of a validating webhook',
      { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response: { uid: 'UID', patch: 'W10=' } },
      'received invalid webhook response: validating webhook may not return response.patch',
    ],
    [
      'another uid',
      { response: { uid: 'other' } },
      'received invalid webhook response: expected response.uid="UID", got "other"',
    ],
    [
      'another kind',
      { kind: 'Other', apiVersion: 'v1', response: { uid: 'UID' } },
      'failed to call webhook: no kind "Other" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'another version',
      { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1beta1', response: { uid: 'UID' } },
      'failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion',
    ],
    [
      'no kind',
      { response: { uid: 'UID' } },
      'received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=',
    ],
  ]
  test.each(answers)('%s', async (_name, answer, reason) => {
    let uid = ''
    const server = await serve((review) => {
      uid = (review['request'] as { uid: string }).uid
      return JSON.parse(JSON.stringify(answer).replaceAll('UID', uid)) as WebhookAnswer
    })
    await install('Validating', webhook(server, { timeoutSeconds: 1 }))
    const expected = failed(reason.replace('URL', server.url))
    const answered = failureOf(await api.post(path, configMap('x')))
    expect(answered).toEqual(JSON.parse(JSON.stringify(expected).replaceAll('UID', uid)))
  })

  test.each(answers)('%s, ignored', async (_name, answer) => {
    const server = await serve(() => answer)
    await install('Validating', webhook(server, { timeoutSeconds: 1, failurePolicy: 'Ignore' }))
    expect((await api.post(path, configMap('x'))).status).toBe(201)
  })

  test('a webhook that cannot be reached', async () => {
    const port = await freePort()
    const server = await serve(() => 'never')
    await install('Validating', webhook(server, { clientConfig: { url: `https://127.0.0.1:${port}/x` } }))
    const reason = `failed to call webhook: Post "https://127.0.0.1:${port}/x?timeout=5s": dial tcp 127.0.0.1:${port}: connect: connection refused`
    expect(failureOf(await api.post(path, configMap('x')))).toEqual(failed(reason))
  })

  test('a certificate of an unknown authority', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await install('Validating', webhook(server, { clientConfig: { url: server.url } }))
    const reason = `failed to call webhook: Post "${server.url}/?timeout=5s": tls: failed to verify certificate: x509: certificate signed by unknown authority`
    expect(failureOf(await api.post(path, configMap('x')))).toEqual(failed(reason))
  })

  test('the configuration of an unreachable webhook can be deleted', async () => {
    const server = await serve(() => 'never')
    const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }
    const unreachable = { url: `https://127.0.0.1:${await freePort()}` }
    await install('Mutating', webhook(server, { rules: [everything], clientConfig: unreachable }))
    expect((await api.post(path, configMap('x'))).status).toBe(500)
    await api.delete('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks-mutating')
    expect((await api.post(path, configMap('x'))).status).toBe(201)
  })
})

describe('subresources', () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments'
  const rule = (resource: string, group = ''): JsonObject => ({
    rules: [{ apiGroups: [group], apiVersions: ['*'], operations: ['*'], resources: [resource] }],
  })

  async function deploy(): Promise<void> {
    const labels = { app: 'x' }
    await api.post(deployments, {
      metadata: { name: 'd' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })
  }

  test('a Scale reaches mutating webhooks as a Scale, and their patch changes the replicas', async () => {
    await deploy()
    const server = await serve((review) =>
      reviewAnswer(review, patchResponse([{ op: 'replace', path: '/spec/replicas', value: 7 }])),
    )
    await install('Mutating', webhook(server, rule('deployments/scale', 'apps')))
    const scaled = await api.merge(`${deployments}/d/scale`, { spec: { replicas: 5 } })
    const { kind, subResource, object, oldObject } = server.calls[0]!.review['request'] as Record<string, JsonObject>
    expect([kind, subResource, object!['kind'], object!['spec'], oldObject!['spec']]).toEqual([
      { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      'scale',
      'Scale',
      { replicas: 5 },
      { replicas: 2 },
    ])
    const { body } = await api.get(`${deployments}/d`)
    expect([scaled.body['spec'], (body['spec'] as JsonObject)['replicas']]).toEqual([{ replicas: 7 }, 7])
  })

  test('a webhook can refuse an eviction', async () => {
    await api.post('/api/v1/namespaces/default/pods', {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })
    const server = await serve((review) => reviewAnswer(review, { allowed: false, status: { message: 'stay' } }))
    await install('Validating', webhook(server, rule('pods/eviction')))
    const pod = '/api/v1/namespaces/default/pods/p'
    const answer = await api.post(`${pod}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'p' },
    })
    expect(failureOf(answer)['message']).toBe('admission webhook "check.example.com" denied the request: stay')
    const { kind, resource } = server.calls[0]!.review['request'] as Record<string, JsonObject>
    expect([kind!['kind'], resource!['resource'], (await api.get(pod)).status]).toEqual(['Eviction', 'pods', 200])
  })
})

describe('webhooks behind Services', () => {
  const service = (port?: number): JsonObject => ({
    clientConfig: {
      service: { namespace: 'default', name: 'hooks', path: '/check', ...(port === undefined ? {} : { port }) },
    },
  })

  test('a missing Service fails the call', async () => {
    const server = await serve(() => 'never')
    await install('Validating', webhook(server, service()))
    expect(failureOf(await api.post(path, configMap('x')))['message']).toBe(
      'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https://hooks.default.svc:443/check?timeout=5s": service "hooks" not found',
    )
  })

  test.skipIf(ownAddress === undefined)('the call goes to a ready address of the Service', async () => {
    const server = servers.use(
      await WebhookServer.start((review) => reviewAnswer(review, { allowed: true }), ownAddress),
    )
    await install(
      'Validating',
      webhook(server, {
        clientConfig: { ...(service(8443)['clientConfig'] as JsonObject), caBundle: server.caBundle },
      }),
    )
    await api.post('/api/v1/namespaces/default/services', {
      metadata: { name: 'hooks' },
      spec: { ports: [{ port: 8443, name: 'https' }], clusterIP: 'None' },
    })
    const unreachable = failureOf(await api.post(path, configMap('x')))['message']
    expect(unreachable).toContain('no endpoints available for service "hooks"')
    await api.post('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { name: 'hooks', labels: { 'kubernetes.io/service-name': 'hooks' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [ownAddress!], conditions: { ready: true } }],
      ports: [{ name: 'https', port: server.port, protocol: 'TCP' }],
    })
    const { status } = await api.post(path, configMap('x'))
    expect([status, server.calls.map((call) => call.path)]).toEqual([201, ['/check?timeout=5s']])
  })

  test.skipIf(ownAddress === undefined).each<[string, boolean, JsonObject, JsonObject]>([
    ['its Endpoints', true, {}, {}],
    [
      'no Endpoints that are not to be mirrored',
      false,
      {},
      { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    ],
    ['no Endpoints of a Service with a selector', false, { selector: { app: 'x' } }, {}],
    [
      'no Endpoints of a leader election',
      false,
      {},
      { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } },
    ],
  ])('without EndpointSlices of its own the call goes to %s', async (_name, isCalled, spec, metadata) => {
    const server = servers.use(
      await WebhookServer.start((review) => reviewAnswer(review, { allowed: true }), ownAddress),
    )
    const clientConfig = { ...(service(8443)['clientConfig'] as JsonObject), caBundle: server.caBundle }
    await install('Validating', webhook(server, { clientConfig }))
    await api.post('/api/v1/namespaces/default/services', {
      metadata: { name: 'hooks' },
      spec: {
        ports: [
          { port: 443, name: 'api' },
          { port: 8443, name: 'https' },
        ],
        ...spec,
      },
    })
    const made = await api.post('/api/v1/namespaces/default/endpoints', {
      metadata: { name: 'hooks', ...metadata },
      subsets: [
        { notReadyAddresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 1 }] },
        {
          addresses: [{ ip: ownAddress! }],
          ports: [
            { name: 'api', port: 2 },
            { name: 'https', port: server.port },
          ],
        },
      ],
    })
    expect(made.status).toBe(201)
    // The mirror of older Endpoints does not count.
    await api.post('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: {
        name: 'hooks-mirror',
        labels: {
          'kubernetes.io/service-name': 'hooks',
          'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
      ports: [{ name: 'https', port: 1, protocol: 'TCP' }],
    })
    const { status } = await api.post(path, configMap('x'))
    expect([status, server.calls.length]).toEqual(isCalled ? [201, 1] : [500, 0])
  })

  test('the call goes to the address of the resolve option', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    await using own = await TestApi.start({
      resolve: async (host) => (host === 'hooks.default.svc' ? { host: '127.0.0.1', port: server.port } : undefined),
    })
    await own.post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      metadata: { name: 'hooks' },
      webhooks: [
        webhook(server, {
          clientConfig: { service: { namespace: 'default', name: 'hooks' }, caBundle: server.caBundle },
        }),
      ],
    })
    const { status } = await own.post(path, configMap('x'))
    expect([status, server.calls.length]).toEqual([201, 1])
  })
})

describe('mutating webhooks', () => {
  test('patch the stored object, for every kind of write', async () => {
    const server = await serve((review) =>
      reviewAnswer(review, patchResponse([{ op: 'add', path: '/metadata/labels', value: { seen: 'yes' } }])),
    )
    await install('Mutating', webhook(server))
    const created = await api.post(path, configMap('x'))
    const applied = await api.apply(`${path}/y?fieldManager=me`, configMap('y'))
    const changed = await api.merge(`${path}/x`, { metadata: { labels: null }, data: { b: '2' } })
    expect([created, applied, changed].map(({ status, body }) => [status, body.metadata['labels']])).toEqual([
      [201, { seen: 'yes' }],
      [201, { seen: 'yes' }],
      [200, { seen: 'yes' }],
    ])
    const again = await api.merge(`${path}/x`, { data: { b: '2' } })
    expect(again.body.metadata['resourceVersion']).toBe(changed.body.metadata['resourceVersion'])
  })

  test('receive the object as earlier webhooks left it, and validating ones the final object', async () => {
    const add = (text: string) => (review: JsonObject) => {
      const { data = {} } = (review['request'] as { object: { data?: Record<string, string> } }).object
      return reviewAnswer(
        review,
        patchResponse([{ op: 'add', path: '/data/trace', value: `${data['trace'] ?? ''}${text}` }]),
      )
    }
    const [one, two] = [await serve(add('1')), await serve(add('2'))]
    const last = await serve((review) => reviewAnswer(review, { allowed: true }))
    await install('Mutating', webhook(one, { name: 'a.example.com' }), webhook(two, { name: 'b.example.com' }))
    await install('Validating', webhook(last))
    const { body } = await api.post(path, configMap('x'))
    const seen = (last.calls[0]!.review['request'] as { object: JsonObject }).object['data']
    expect([body['data'], seen]).toEqual([
      { a: '1', trace: '12' },
      { a: '1', trace: '12' },
    ])
  })

  test('are called once more after a later one changed the object, under reinvocationPolicy IfNeeded', async () => {
    const first = await serve((review) => {
      const { data = {} } = (review['request'] as { object: { data?: Record<string, string> } }).object
      const count = Number(data['count'] ?? 0) + 1
      return reviewAnswer(review, patchResponse([{ op: 'add', path: '/data/count', value: String(count) }]))
    })
    const second = await serve((review) =>
      reviewAnswer(review, patchResponse([{ op: 'add', path: '/data/later', value: 'x' }])),
    )
    await install(
      'Mutating',
      webhook(first, { name: 'a.example.com', reinvocationPolicy: 'IfNeeded' }),
      webhook(second, { name: 'b.example.com' }),
    )
    const { body } = await api.post(path, configMap('x'))
    expect([body['data'], first.calls.length, second.calls.length]).toEqual([{ a: '1', count: '2', later: 'x' }, 2, 1])
  })

  const pods = '/api/v1/namespaces/default/pods'
  const pod = (name: string): JsonObject => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } })
  const onPods = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }]

  test('see what the plugins of Kubernetes set: priority, tolerations, default classes', async () => {
    const server = await serve((review) => reviewAnswer(review, { allowed: true }))
    const everything = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] }]
    await api.post('/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: 'fast', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'p.example.com',
    })
    await install('Mutating', webhook(server, { rules: everything }))
    await api.post(pods, pod('p'))
    await api.post('/api/v1/nodes', { metadata: { name: 'n' } })
    await api.post('/api/v1/namespaces/default/persistentvolumeclaims', {
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    })
    const specs = server.calls.map(({ review }) => (review['request'] as { object: JsonObject }).object['spec'])
    const toleration = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }
    expect(specs).toMatchObject([
      {
        priority: 0,
        preemptionPolicy: 'PreemptLowerPriority',
        tolerations: [
          { key: 'node.kubernetes.io/not-ready', ...toleration },
          { key: 'node.kubernetes.io/unreachable', ...toleration },
        ],
      },
      { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
      { storageClassName: 'fast' },
    ])
  })

  test('have their changes completed by the plugins before them, and see the result under IfNeeded', async () => {
    await api.post('/api/v1/namespaces/default/limitranges', {
      metadata: { name: 'l' },
      spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] },
    })
    const first = await serve((review) => reviewAnswer(review, { allowed: true }))
    const sidecar = { op: 'add', path: '/spec/containers/-', value: { name: 'sidecar', image: 'i' } }
    const second = await serve((review) => reviewAnswer(review, patchResponse([sidecar])))
    await install(
      'Mutating',
      webhook(first, { name: 'a.example.com', rules: onPods, reinvocationPolicy: 'IfNeeded' }),
      webhook(second, { name: 'b.example.com', rules: onPods }),
    )
    const { body } = await api.post(pods, pod('p'))
    const limitsOf = (object: JsonObject): unknown =>
      (object['spec'] as { containers: { name: string; resources: JsonObject }[] }).containers.map(
        ({ name, resources }) => [name, resources['limits']],
      )
    const expected = [
      ['c', { cpu: '1' }],
      ['sidecar', { cpu: '1' }],
    ]
    const seen = (first.calls[1]!.review['request'] as { object: JsonObject }).object
    expect([limitsOf(body), limitsOf(seen), first.calls.length, second.calls.length]).toEqual([
      expected,
      expected,
      2,
      1,
    ])
  })

  const broken: [string, JsonObject, RegExp][] = [
    ['no patch type', { allowed: true, patch: 'W10=' }, /webhook returned response.patch but not response.patchType$/],
    [
      'no patch',
      { allowed: true, patchType: 'JSONPatch' },
      /webhook returned response.patchType but not response.patch$/,
    ],
    [
      'another patch type',
      {
        allowed: true,
        patchType: 'MergePatch',
        patch: Buffer.from('[{"op":"remove","path":"/data"}]').toString('base64'),
      },
      /failed calling webhook "check.example.com": unsupported patch type "MergePatch"$/,
    ],
    [
      'no JSON',
      { allowed: true, patchType: 'JSONPatch', patch: 'eHg=' },
      /received undecodable patch in webhook response: invalid character 'x'/,
    ],
    [
      'a patch that is no list',
      { allowed: true, patchType: 'JSONPatch', patch: Buffer.from('{}').toString('base64') },
      /received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch$/,
    ],
    ['another kind', patchResponse([{ op: 'replace', path: '/kind', value: 'Secret' }]), /unknown conversion$/],
    [
      'a patch that does not fit',
      patchResponse([{ op: 'remove', path: '/nope' }]),
      /^Internal error occurred: error in remove for path: '\/nope': Unable to remove nonexistent key: nope: missing value$/,
    ],
    [
      'a type that does not fit',
      patchResponse([{ op: 'add', path: '/data/a', value: 1 }]),
      /^Internal error occurred: /,
    ],
  ]
  test.each(broken)('a patch response with %s is refused', async (_name, response, message) => {
    const server = await serve((review) => reviewAnswer(review, response))
    await install('Mutating', webhook(server))
    const answer = await api.post(path, configMap('x'))
    expect([answer.status, failureOf(answer)['message']]).toEqual([500, expect.stringMatching(message)])
  })

  const owner = { manager: 'hook', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }
  test.each<[string, JsonValue, boolean]>([
    ['someone', [owner], true],
    ['nobody', [], true],
    ['nonsense', [{ ...owner, operation: 'Odd' }], false],
  ])('may say who owns fields: %s', async (_name, managedFields, isTaken) => {
    const server = await serve((review) =>
      reviewAnswer(review, patchResponse([{ op: 'replace', path: '/metadata/managedFields', value: managedFields }])),
    )
    await install('Mutating', webhook(server))
    const { body } = await api.post(`${path}?dryRun=All`, configMap('x'))
    const expected = isTaken ? managedFields : [expect.objectContaining({ operation: 'Update', apiVersion: 'v1' })]
    expect(body.metadata['managedFields'] ?? []).toEqual(expected)
  })

  test('cannot patch an object that is deleted', async () => {
    const server = await serve((review) =>
      reviewAnswer(review, patchResponse([{ op: 'add', path: '/data', value: {} }])),
    )
    await api.post(path, configMap('x'))
    await install('Mutating', webhook(server, { rules: [{ ...configMaps, operations: ['DELETE'] }] }))
    expect(failureOf(await api.delete(`${path}/x`))['message']).toBe(
      'Internal error occurred: admission webhook "check.example.com" attempted to modify the object, which is not supported for this operation',
    )
  })

  test('patch custom resources, whose schemas validate the result', async () => {
    await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { size: { type: 'integer', maximum: 5 } } } },
              },
            },
          },
        ],
      },
    })
    const things = '/apis/example.com/v1/namespaces/default/things'
    await until(async () => (await api.get(things)).status === 200)
    let size: JsonValue = 3
    const server = await serve((review) =>
      reviewAnswer(review, patchResponse([{ op: 'add', path: '/spec', value: { size, junk: true } }])),
    )
    const rules = [{ apiGroups: ['example.com'], apiVersions: ['*'], operations: ['CREATE'], resources: ['things'] }]
    await install('Mutating', webhook(server, { rules }))
    const thing = (name: string): JsonObject => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name } })
    expect((await api.post(things, thing('a'))).body['spec']).toEqual({ size: 3 })
    size = 9
    expect((await api.post(things, thing('b'))).status).toBe(422)
  })
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
