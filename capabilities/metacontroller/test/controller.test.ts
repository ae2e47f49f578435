// The controller of MapControllers on an embedded server: acceptance, restarts, events.
import type { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { describe, expect, test } from 'vitest'
import { recorded } from '../../../test/support/recorded-client.ts'
import {
  conditionOf,
  configMaps,
  controller,
  hook,
  input,
  mapControllers,
  names,
  policies,
  policy,
  reasons,
  secrets,
  set,
  stage,
  startStage,
  useHook,
} from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

describe('a MapController', () => {
  test('is accepted as soon as the kinds that it names are served', async () => {
    await startStage()
    await stage.apply(controller())
    await stage.pass(2)
    expect(await conditionOf('Accepted')).toEqual({
      status: 'False',
      reason: 'UnknownKind',
      message: expect.stringContaining('policies in test.example.com/v1'),
    })
    await stage.apply(policies)
    await stage.pass(2)
    await stage.apply(policy(), input('a'))
    await stage.pass(2)
    expect([await conditionOf('Accepted'), await conditionOf('Ready')]).toEqual([
      { status: 'True', reason: 'Accepted', message: 'The spec can be carried out' },
      { status: 'True', reason: 'Serving', message: 'Every group is served' },
    ])
    expect(await names(secrets)).toEqual(['a-copy'])
  })

  test('is accepted when discovery serves the definition late, as on a real server', async () => {
    let isListed = false
    const controllerClient = (server: ApiServer): Client => {
      const { client, transport } = recorded(server.client())
      transport.instead = ({ path }) =>
        isListed || path !== '/apis/test.example.com/v1'
          ? undefined
          : { status: 404, headers: {}, body: '404 page not found', warnings: [] }
      return client
    }
    await startStage({ controllerClient })
    await stage.apply(controller())
    await stage.apply(policies)
    await stage.pass(3)
    expect((await conditionOf('Accepted'))?.reason).toBe('UnknownKind')
    isListed = true
    await stage.pass(5)
    expect((await conditionOf('Accepted'))?.reason).toBe('Accepted')
  })

  test('is not accepted with an expression that does not compile, and the message names the field', async () => {
    await set({}, controller({}, { map: { expression: 'input.metadata.nam(' } }))
    expect(await conditionOf('Accepted')).toEqual({
      status: 'False',
      reason: 'InvalidExpression',
      message: expect.stringContaining('spec.hooks.map.expression'),
    })
    await stage.apply(controller({}, { map: { expression: '"a string"' } }))
    await stage.pass(2)
    expect((await conditionOf('Accepted'))?.message).toContain('list')
  })

  test.each<[string, object, object | undefined, string]>([
    ['no hook', {}, { map: {} }, 'needs exactly one of: webhook, expression'],
    ['two hooks in one', {}, { map: { expression: '[]', webhook: { url: 'http://x/' } } }, 'needs exactly one of'],
    ['a webhook without an address', {}, { map: { webhook: { path: '/map' } } }, 'needs url, or service and path'],
    [
      'an output that is the parent',
      { outputResources: [{ apiVersion: 'test.example.com/v1', resource: 'policies' }] },
      undefined,
      'a parent cannot be its own output',
    ],
    [
      'an output that is the parent in another version',
      { outputResources: [{ apiVersion: 'test.example.com/v2', resource: 'policies' }] },
      undefined,
      'a parent cannot be its own output',
    ],
    [
      'a core kind twice in two versions',
      {
        inputResources: [
          { apiVersion: 'v1', resource: 'bs' },
          { apiVersion: 'v2', resource: 'bs' },
          { apiVersion: 'v1/v1', resource: 'bs' },
        ],
      },
      undefined,
      'listed once',
    ],
    [
      'one kind twice in two versions',
      {
        inputResources: [
          { apiVersion: 'a.io/v1', resource: 'bs' },
          { apiVersion: 'a.io/v2', resource: 'bs' },
        ],
      },
      undefined,
      'listed once',
    ],
    [
      'an unknown method',
      { outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'RollingInPlace' } }] },
      undefined,
      'RollingInPlace',
    ],
    [
      'a selector that cannot be',
      {
        inputResources: [
          {
            apiVersion: 'v1',
            resource: 'configmaps',
            labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] },
          },
        ],
      },
      undefined,
      'In and NotIn need values',
    ],
    ['a period of nothing', { resyncPeriodSeconds: 0 }, undefined, 'greater than or equal to 1'],
    [
      'Basic as an authorization',
      {},
      {
        map: {
          webhook: {
            url: 'http://x/',
            authorization: { type: 'basic', secretRef: { name: 'a', namespace: 'b', key: 'c' } },
          },
        },
      },
      'use basicAuth',
    ],
  ])('is refused by its schema with %s', async (_title, spec, hooks, message) => {
    await set()
    await expect(stage.client.create(controller(spec, hooks))).rejects.toThrow(message)
  })

  test('calls the hook for every group when its spec changes, and keeps outputs when it is deleted', async () => {
    await set({}, controller(), policy(), input('a'))
    expect(hook.takeCalls()).toEqual(['a'])
    await stage.apply(controller({ resyncPeriodSeconds: 600 }))
    await stage.pass(2)
    expect(hook.takeCalls()).toEqual(['a'])
    await stage.client.delete(mapControllers, 'copies')
    await stage.pass(1)
    await stage.apply(input('b'))
    await stage.pass(1300)
    expect({ calls: hook.takeCalls(), outputs: await names(secrets) }).toEqual({ calls: [], outputs: ['a-copy'] })
    expect(await reasons()).toEqual(
      ['Starting', 'Started', 'Stopping', 'Stopped', 'Starting', 'Started', 'Stopping', 'Stopped'].filter(
        (reason, index, all) => all.indexOf(reason) === index,
      ),
    )
  })

  test('writes nothing and delays all calls after a restart without changes', async () => {
    await set({}, controller(), policy(), ...['a', 'b', 'c'].map((name) => input(name)))
    await stage.stopControllers()
    const before = (await stage.client.list(secrets)).items
    hook.takeCalls()
    await stage.startControllers()
    await stage.settle()
    expect(hook.takeCalls()).toEqual([])
    await stage.pass(60)
    expect(hook.takeCalls().toSorted()).toEqual(['a', 'b', 'c'])
    expect((await stage.client.list(secrets)).items).toEqual(before)
  })

  test('calls the hook at once after a restart for groups that changed meanwhile', async () => {
    await set(
      {},
      controller(
        {},
        { map: { webhook: { url: `${hook.url}/map` } }, tombstone: { webhook: { url: `${hook.url}/tombstone` } } },
      ),
      policy(),
      ...['changed', 'same', 'deleted'].map((name) => input(name)),
    )
    await stage.stopControllers()
    hook.takeCalls()
    await stage.apply(input('changed', { new: 'data' }), input('new'))
    await stage.client.delete(configMaps, 'default/deleted')
    hook.reply = ({ path, body }) => ({ body: { outputs: path === '/map' ? [copyOf(body.input)] : [] } })
    await stage.startControllers()
    await stage.settle()
    expect(hook.takeCalls().toSorted()).toEqual(['changed', 'new', 'tombstone'])
    expect((await names(secrets)).toSorted()).toEqual(['changed-copy', 'new-copy', 'same-copy'])
  })

  test('sends its hooks objects in the versions that its spec names', async () => {
    const { versions } = policies.spec as { versions: { name: string }[] }
    const both = {
      ...policies,
      spec: {
        ...(policies.spec as object),
        versions: [versions[0], { ...versions[0], name: 'v1beta1', storage: false }],
      },
    }
    await set({}, both)
    await stage.apply(
      controller({ parentResource: { apiVersion: 'test.example.com/v1beta1', resource: 'policies' } }),
      policy(),
      input('a'),
    )
    await stage.pass(2)
    expect(hook.calls.map(({ body }) => body.parent.apiVersion)).toEqual(['test.example.com/v1beta1'])
    expect(
      (await stage.client.list(secrets)).items.flatMap(
        ({ metadata }) => metadata.ownerReferences?.map(({ apiVersion }) => apiVersion) ?? [],
      ),
    ).toEqual(['test.example.com/v1beta1'])
  })

  test('ignores parents that its labelSelector does not match, and keeps the outputs of parents that no longer match', async () => {
    const picked = controller({
      parentResource: {
        apiVersion: 'test.example.com/v1',
        resource: 'policies',
        labelSelector: { matchLabels: { on: 'yes' } },
      },
    })
    await set(
      {},
      picked,
      { ...policy(), metadata: { name: 'all', namespace: 'default', labels: { on: 'yes' } } },
      policy('off'),
      input('a'),
    )
    expect(hook.calls.splice(0).map(({ body }) => body.parent.metadata.name)).toEqual(['all'])
    await stage.apply({ ...policy(), metadata: { name: 'all', namespace: 'default', labels: { on: 'no' } } })
    await stage.client.delete(configMaps, 'default/a')
    await stage.pass(120)
    expect({ calls: hook.takeCalls(), outputs: await names(secrets) }).toEqual({ calls: [], outputs: ['a-copy'] })
  })
})
