// The conditions of a MapController on an embedded server: what they say, and what they do not say.
import type { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { crd } from '../../../test/support/crd.ts'
import { recorded } from '../../../test/support/recorded-client.ts'
import { conditionOf, controller, hook, input, mapControllers, policy, reasons, set, stage, useHook } from './copies.ts'

useHook()

/** Returns a client whose writes of Secrets the server forbids with a message. */
function forbidding(message: string, details: JsonObject = {}): (server: ApiServer) => Client {
  return (server) => {
    const { client, transport } = recorded(server.client())
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Forbidden', code: 403 }
    transport.instead = ({ method, path }) =>
      method === 'PATCH' && path.includes('/secrets/')
        ? { status: 403, headers: {}, body: { ...status, message, details }, warnings: [] }
        : undefined
    return client
  }
}

const statusOf = async (): Promise<object | undefined> =>
  ((await stage.client.get(mapControllers, 'copies')) as KubeObject & { status?: object }).status

describe('the Ready condition of a MapController', () => {
  test('advises to grant rights when RBAC refuses a write', async () => {
    const message = 'secrets "a-copy" is forbidden: User "map" cannot create resource "secrets" in API group ""'
    await set({ controllerClient: forbidding(message) }, controller(), policy(), input('a'))
    expect(await conditionOf('Ready')).toMatchObject({
      reason: 'Forbidden',
      message: expect.stringContaining('map rbac'),
    })
  })

  test.each([
    'admission webhook "deny.example.com" denied the request: level must not be forbidden',
    'roles.rbac.authorization.k8s.io "r" is forbidden: user "map" is attempting to grant RBAC permissions not currently held',
    'create not allowed while custom resource definition is terminating',
  ])('does not advise to grant rights when it is not RBAC that refuses: %s', async (message) => {
    await set({ controllerClient: forbidding(message) }, controller(), policy(), input('a'))
    const ready = await conditionOf('Ready')
    expect(ready?.reason).toBe('GroupsFailing')
    expect(ready?.message).toContain(message)
    expect(ready?.message).not.toContain('map rbac')
  })

  test('stays True, without an event, while the namespace of an output is being deleted', async () => {
    const message = 'unable to create new content in namespace default because it is being terminated'
    const details = {
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: 'namespace default is being terminated',
          field: 'metadata.namespace',
        },
      ],
    }
    await set({ controllerClient: forbidding(message, details) }, controller(), policy(), input('a'))
    expect(await conditionOf('Ready')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('1 of 1 groups wait'),
    })
    expect(await reasons()).not.toContain('SyncError')
  })

  test('names the groups that wait for their hook', async () => {
    hook.reply = () => ({ status: 429, headers: { 'retry-after': '60' }, body: '' })
    await set({}, controller(), policy(), input('a'))
    expect(await conditionOf('Ready')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('1 of 1 groups wait'),
    })
  })
})

describe('a kind of outputs whose definition is deleted', () => {
  const copies = crd({ group: 'test.example.com', kind: 'Copy', plural: 'copies' })
  const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }
  const copy = { apiVersion: 'test.example.com/v1', kind: 'Copy' }

  const finalizers = ['test.example.com/hold']

  test.each([
    ['at once', 0],
    ['after it was terminating for minutes', 400],
  ])('%s is reported, and has its outputs again soon after it is created again', async (_title, terminating) => {
    hook.reply = ({ body }) => ({ body: { outputs: [{ ...copy, metadata: { name: body.input.metadata.name } }] } })
    await set({}, copies)
    const outputResources = [{ apiVersion: 'test.example.com/v1', resource: 'copies' }]
    const inputs = Array.from({ length: 20 }, (_, n) => input(`i${n}`))
    await stage.apply(controller({ outputResources }), policy(), ...inputs)
    await stage.pass(5)
    const held = { ...copy, metadata: { name: 'held', namespace: 'default' } }
    if (terminating > 0) await stage.apply({ ...held, metadata: { ...held.metadata, finalizers } })
    await stage.client.delete(definition, 'copies.test.example.com')
    await stage.pass(terminating)
    if (terminating > 0) await stage.client.patch(held, 'default/held', { merge: { metadata: { finalizers: null } } })
    await stage.pass(20)
    expect((await conditionOf('Ready'))?.reason).toBe('KindAbsent')
    hook.calls.length = 0
    await stage.pass(60)
    expect(hook.calls.length).toBeLessThan(inputs.length)
    await stage.apply(copies)
    await stage.pass(20)
    expect((await stage.client.list(copy)).items.length).toBe(inputs.length)
    expect((await conditionOf('Ready'))?.reason).toBe('Serving')
  })
})

describe('the status of a MapController', () => {
  test('counts groups that are added and removed', async () => {
    await set({}, controller(), policy(), input('a'))
    await stage.apply(...['b', 'c', 'd'].map((name) => input(name)))
    await stage.pass(2)
    expect(await statusOf()).toMatchObject({ groups: 4 })
    await stage.client.delete({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/a')
    await stage.pass(2)
    expect(await statusOf()).toMatchObject({ groups: 3 })
  })

  test.each(['http://a:99999/x', 'http://[bad/'])('says that a hook cannot be called at %s', async (url) => {
    await set({}, controller({}, { map: { webhook: { url } } }))
    expect(await conditionOf('Accepted')).toMatchObject({
      status: 'False',
      reason: 'InvalidHook',
      message: expect.stringContaining('spec.hooks.map.webhook'),
    })
  })
})

describe('a hook that asks to be called again', () => {
  test.each([
    ['with Retry-After: 0', { status: 429, headers: { 'retry-after': '0' }, body: '' }],
    ['with a tiny resyncAfterSeconds', { body: { outputs: [], resyncAfterSeconds: 1e-9 } }],
  ])('at once, %s, is called once a second at most', async (_title, reply) => {
    hook.reply = () => reply
    await set({}, controller(), policy(), input('a'))
    hook.takeCalls()
    await stage.pass(10)
    expect(hook.takeCalls().length).toBeLessThanOrEqual(10)
  })

  test('in 3,000 years is called again within an hour', async () => {
    hook.reply = () => ({ status: 429, headers: { 'retry-after': '99999999999' }, body: '' })
    await set({}, controller(), policy(), input('a'))
    hook.takeCalls()
    await stage.pass(3601)
    expect(hook.takeCalls()).toEqual(['a'])
  })
})
