// What one slow, broken or stopping MapController does to the others and to itself.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import {
  conditionOf,
  controller,
  hook,
  input,
  mapControllers,
  names,
  policy,
  reasons,
  secrets,
  set,
  stage,
  useHook,
} from './copies.ts'
import { copyOf } from './hook.ts'
import { runCommand } from './run-command.ts'

useHook()

const statusOf = async (): Promise<object | undefined> =>
  ((await stage.client.get(mapControllers, 'copies')) as KubeObject & { status?: object }).status

describe('a MapController among others', () => {
  test('starts while the calls of another one that is being changed hang', async () => {
    const waiting: (() => void)[] = []
    hook.reply = ({ path, body }) =>
      path === '/slow'
        ? new Promise((resolve) => waiting.push(() => resolve({ body: { outputs: [] } })))
        : { body: { outputs: [copyOf(body.input)] } }
    const slow = {
      ...controller({}, { map: { webhook: { url: `${hook.url}/slow`, timeout: '1h' } } }),
      metadata: { name: 'slow' },
    }
    await set({}, policy())
    await stage.during(stage.client.apply(slow))
    await stage.during(stage.client.apply(input('a')))
    for (let step = 0; waiting.length === 0 && step < 10_000; step++) await stage.clock.advance(1)
    expect(waiting.length).toBe(1)
    await stage.during(stage.client.delete(mapControllers, 'slow'))
    await stage.apply(controller())
    await stage.pass(1)
    expect(await names(secrets)).toEqual(['a-copy'])
    for (const end of waiting) end()
  })

  test('leaves calls to the other parents when the hook of one parent is slow', async () => {
    const waiting: (() => void)[] = []
    hook.reply = ({ body }) =>
      body.parent.metadata.name === 'slow'
        ? new Promise((resolve) => waiting.push(() => resolve({ body: { outputs: [] } })))
        : { body: { outputs: [] } }
    const slow = policy('slow', { selector: { matchLabels: { slow: 'yes' } } })
    await set({}, controller({}, { map: { webhook: { url: `${hook.url}/map`, timeout: '1h' } } }), slow)
    for (let at = 0; at < 40; at++) {
      const { metadata, ...of } = input(`s${at}`)
      await stage.during(stage.client.apply({ ...of, metadata: { ...metadata, labels: { slow: 'yes' } } }))
    }
    for (let step = 0; waiting.length < 24 && step < 10_000; step++) await stage.clock.advance(1)
    await stage.during(stage.client.apply(policy('quick')))
    await stage.during(stage.client.apply(input('a')))
    const isCalled = (): boolean => hook.calls.some(({ body }) => body.parent.metadata.name === 'quick')
    for (let step = 0; !isCalled() && step < 10_000; step++) await stage.clock.advance(1)
    expect({ isCalled: isCalled(), slow: waiting.length }).toEqual({ isCalled: true, slow: 24 })
    hook.reply = () => ({ body: { outputs: [] } })
    for (const end of waiting) end()
  })

  test('calls a hook that is down only now and then, reports it, and serves every group soon after it is back', async () => {
    hook.reply = () => ({ status: 503, body: 'down' })
    const inputs = Array.from({ length: 60 }, (_, at) => input(`i${at}`))
    await set({}, controller(), policy(), ...inputs)
    hook.takeCalls()
    const warnings = (await reasons()).filter((reason) => reason === 'SyncError').length
    await stage.pass(60)
    const calls = hook.takeCalls().length
    expect(calls).toBeGreaterThan(5)
    expect(calls).toBeLessThan(40)
    expect((await reasons()).filter((reason) => reason === 'SyncError').length - warnings).toBeLessThanOrEqual(calls)
    expect(await conditionOf('Ready')).toMatchObject({
      status: 'False',
      reason: 'GroupsFailing',
      message: expect.stringContaining('60 of 60 groups fail'),
    })
    hook.reply = ({ body }) => ({ body: { outputs: [copyOf(body.input)] } })
    await stage.pass(7)
    expect((await names(secrets)).length).toBe(60)
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True' })
  })
})

describe('the hook requests of a MapController', () => {
  test('have the controller as it is now, with its status and the annotations that were added since the start', async () => {
    await set({}, controller(), policy(), input('a'))
    const before = (await stage.client.get(mapControllers, 'copies')).metadata.generation
    const noted = controller()
    await stage.apply({ ...noted, metadata: { ...noted.metadata, annotations: { rev: '1' } } })
    hook.calls.length = 0
    await stage.apply(input('b'))
    const sent = hook.calls[0]?.body['controller'] as unknown as KubeObject & { status?: { conditions?: unknown[] } }
    expect(sent.metadata).toMatchObject({ annotations: { rev: '1' }, generation: before })
    expect(sent.status?.conditions?.length).toBe(2)
  })

  test('are not sent for changes of outputs that the output resource ignores', async () => {
    const outputResources = [{ apiVersion: 'v1', resource: 'secrets', fieldPaths: ['data'] }]
    await set({}, controller({ outputResources }), policy(), input('a'))
    hook.takeCalls()
    const patch = (merge: object): Promise<unknown> =>
      stage.client.patch(secrets, 'default/a-copy', { merge: merge as never })
    await patch({ metadata: { labels: { seen: 'yes' } } })
    await stage.pass(2)
    expect(hook.takeCalls()).toEqual([])
    await patch({ data: { more: 'eA==' } })
    await stage.pass(2)
    expect(hook.takeCalls()).toEqual(['a'])
    await stage.client.delete(secrets, 'default/a-copy')
    await stage.pass(2)
    expect(hook.takeCalls()).toEqual(['a'])
  })
})

test('the status of a MapController counts the outputs that drift', async () => {
  await set({}, controller(), policy(), input('a'), input('b'))
  expect(await statusOf()).toMatchObject({ driftedOutputs: 0 })
  hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), stringData: { new: 'x' } }] } })
  await stage.apply(input('a', { changed: 'yes' }))
  await stage.pass(2)
  expect(await statusOf()).toMatchObject({ driftedOutputs: 1 })
  await stage.client.delete(secrets, 'default/a-copy')
  await stage.pass(2)
  expect(await statusOf()).toMatchObject({ driftedOutputs: 0 })
})

test('fairlead map drift names the outputs that drift and their fields', async () => {
  hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), data: { k: 'djE=' } }] } })
  await set({}, controller(), policy(), input('a'), input('b'))
  await stage.client.patch(secrets, 'default/b-copy', { merge: { data: { k: 'djI=' } } })
  await stage.pass(2)
  const ran = runCommand('drift', { arguments: { names: [] } as never, options: { resolve: [] }, client: stage.client })
  const { code, out } = await stage.during(ran)
  expect({ code, out }).toEqual({
    code: 0,
    out: 'copies  Secret/default/b-copy  (from ConfigMap/default/b)  data.k',
  })
})
