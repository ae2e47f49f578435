// Webhooks of a MapController: addresses, credentials, ETags, versions.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { ownAddress } from '../../../test/support/own-address.ts'
import {
  conditionOf,
  controller,
  hook,
  input,
  names,
  policy,
  restartHook,
  secrets,
  set,
  stage,
  useHook,
} from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

describe('webhooks', () => {
  const service = (name: string, spec: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec,
  })
  const named = (): KubeObject =>
    controller({}, { map: { webhook: { service: { name: 'hook', namespace: 'default' }, path: '/map' } } })

  const unless = ownAddress === undefined ? ' (this machine has no IPv4 address but loopback)' : ''
  test.skipIf(ownAddress === undefined)(`are found through the endpoints of their Service${unless}`, async () => {
    await restartHook(ownAddress)
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'hook-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'hook' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [ownAddress!], conditions: { ready: true } }],
      ports: [{ name: 'http', port: hook.port, protocol: 'TCP' }],
    }
    await set(
      {},
      service('hook', { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }),
      slice,
      named(),
      policy(),
      input('a'),
    )
    expect(hook.calls.map(({ path, headers }) => [path, headers.host])).toEqual([['/map', 'hook.default']])
  })

  test('resolve through --resolve when there is no Service, and otherwise fail with advice', async () => {
    await set({ resolve: { 'hook.default': `127.0.0.1:${hook.port}` } }, named(), policy(), input('a'))
    expect(hook.takeCalls()).toEqual(['a'])
    await stage[Symbol.asyncDispose]()
    await set({}, named(), policy(), input('a'))
    expect((await conditionOf('Ready'))?.message).toContain('--resolve hook.default=HOST:PORT')
  })

  test('get credentials from a Secret, also after its rotation', async () => {
    const token = (text: string): KubeObject => ({
      ...secrets,
      metadata: { name: 'token', namespace: 'default' },
      data: { key: Buffer.from(`${text}\n`).toString('base64') },
    })
    const guarded = controller(
      {},
      {
        map: {
          webhook: {
            url: `${hook.url}/map`,
            authorization: { secretRef: { name: 'token', namespace: 'default', key: 'key' } },
          },
        },
      },
    )
    await set({}, token('one'), guarded, policy(), input('a'))
    await stage.apply(token('two'))
    await stage.pass(61)
    await stage.apply(input('b'))
    expect(hook.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer two'])
  })

  test('get the credentials of their host from endpointConfigs, unless they have their own', async () => {
    const user: KubeObject = {
      ...secrets,
      metadata: { name: 'user', namespace: 'default' },
      data: { username: 'bWU=', password: 'cHc=' },
    }
    const endpointConfigs = [
      { host: `127.0.0.1:${hook.port}`, basicAuth: { secretRef: { name: 'user', namespace: 'default' } } },
    ]
    await set({}, user, controller({ endpointConfigs }), policy(), input('a'))
    expect(hook.calls.map(({ headers }) => headers.authorization)).toEqual([
      `Basic ${Buffer.from('me:pw').toString('base64')}`,
    ])
  })

  test.each([
    ['hook.test', 'http://hook.test/map', true],
    ['hook.test:80', 'http://hook.test/map', true],
    ['HOOK.test', 'http://hook.test:80/map', true],
    ['hook.test:8080', 'http://hook.test:8080/map', true],
    ['hook.test', 'http://hook.test:8080/map', false],
    ['hook.test:443', 'http://hook.test/map', false],
  ])('get the credentials of the endpoint %s when they are called at %s: %s', async (host, url, areSent) => {
    const user: KubeObject = {
      ...secrets,
      metadata: { name: 'user', namespace: 'default' },
      data: { username: 'bWU=', password: 'cHc=' },
    }
    const endpointConfigs = [{ host, basicAuth: { secretRef: { name: 'user', namespace: 'default' } } }]
    await set(
      { resolve: { 'hook.test': `127.0.0.1:${hook.port}` } },
      user,
      controller({ endpointConfigs }, { map: { webhook: { url } } }),
      policy(),
      input('a'),
    )
    expect(hook.calls.map(({ headers }) => headers.authorization !== undefined)).toEqual([areSent])
    // Calls without credentials are a mistake that the hook alone would show.
    const message = `The spec can be carried out${areSent ? '' : `; no webhook uses the endpointConfigs of ${host}`}`
    expect(await conditionOf('Accepted')).toEqual({ status: 'True', reason: 'Accepted', message })
  })

  test('may respond 304 when their last response for the group is still valid', async () => {
    hook.reply = ({ headers, body }) =>
      headers['if-none-match'] === '"1"'
        ? { status: 304 }
        : { headers: { etag: '"1"' }, body: { outputs: [copyOf(body.input)] } }
    await set(
      {},
      controller({}, { map: { webhook: { url: `${hook.url}/map`, etag: { enabled: true } } } }),
      policy(),
      input('a'),
    )
    await stage.apply(input('a', { changed: 'yes' }), input('b'))
    expect(hook.calls.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"1"', undefined])
    expect((await names(secrets)).toSorted()).toEqual(['a-copy', 'b-copy'])
  })

  test('of version v2 fail for unknown fields in responses, and get objects keyed by namespace and name', async () => {
    hook.reply = ({ body }) => ({ body: { outputs: [copyOf(body.input)], extra: 1 } })
    await set({}, controller({}, { map: { version: 'v2', webhook: { url: `${hook.url}/map` } } }), policy(), input('a'))
    expect((await conditionOf('Ready'))?.message).toContain('unknown field extra')
    hook.reply = ({ body }) => ({ body: { outputs: [copyOf(body.input)] } })
    await stage.apply(input('a', { again: 'yes' }))
    hook.calls.length = 0
    await stage.apply(input('a', { again: 'and again' }))
    expect(hook.calls.map(({ body }) => body.outputs)).toEqual([
      { 'Secret.v1': { 'default/a-copy': expect.anything() } },
    ])
  })
})
