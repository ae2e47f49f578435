// The groups of a MapController on an embedded server: fairness, retries, resyncs.
import { describe, expect, test } from 'vitest'
import {
  conditionOf,
  controller,
  hook,
  input,
  names,
  policies,
  policy,
  secrets,
  set,
  stage,
  startStage,
  useHook,
} from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

describe('groups of a MapController', () => {
  test('are not delayed by a group whose hook is slow', async () => {
    let release = (): void => {}
    hook.reply = async ({ body }) => {
      if (body.input.metadata.name === 'slow') await new Promise<void>((resolve) => (release = resolve))
      return { body: { outputs: [copyOf(body.input)] } }
    }
    await startStage()
    await stage.apply(policies)
    await stage.pass(1)
    for (const object of [controller(), policy(), input('slow'), ...['a', 'b', 'c'].map((name) => input(name))])
      await stage.during(stage.client.apply(object))
    for (let steps = 0; (await names(secrets)).length < 3 && steps < 2000; steps++) await stage.clock.advance(0)
    expect((await names(secrets)).toSorted()).toEqual(['a-copy', 'b-copy', 'c-copy'])
    release()
    await stage.settle()
    expect((await names(secrets)).toSorted()).toEqual(['a-copy', 'b-copy', 'c-copy', 'slow-copy'])
  })

  test('that wait for a hook that was down are retried as soon as it responds to one of them', async () => {
    let isDown = true
    hook.reply = ({ body }) => (isDown ? { status: 503 } : { body: { outputs: [copyOf(body.input)] } })
    await set({}, controller(), policy(), ...['a', 'b', 'c'].map((name) => input(name)))
    await stage.pass(300)
    expect(await conditionOf('Ready')).toEqual({
      status: 'False',
      reason: 'GroupsFailing',
      message: expect.stringContaining('3 of 3 groups fail'),
    })
    isDown = false
    hook.takeCalls()
    await stage.apply(input('d'))
    // Calls of a hook that was down are suspended for 5 s at most.
    await stage.pass(6)
    expect(hook.takeCalls().toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True', reason: 'Serving' })
  })

  test('that fail for reasons of their own are not retried because others succeed', async () => {
    hook.reply = ({ body }) =>
      body.input.metadata.name === 'bad' ? { status: 500, body: 'no' } : { body: { outputs: [] } }
    await set({}, controller(), policy(), input('bad'))
    await stage.pass(300)
    hook.takeCalls()
    await stage.apply(...['a', 'b', 'c', 'd'].map((name) => input(name)))
    expect(hook.takeCalls()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('are reconciled again after resyncAfterSeconds', async () => {
    hook.reply = () => ({ body: { outputs: [], resyncAfterSeconds: 7.5 } })
    await set({}, controller(), policy(), input('a'))
    hook.takeCalls()
    await stage.pass(5)
    expect(hook.takeCalls()).toEqual([])
    await stage.pass(1)
    expect(hook.takeCalls()).toEqual(['a'])
  })

  test('are reconciled only for changes of fieldPaths and of labels that select', async () => {
    const watched = { apiVersion: 'v1', resource: 'configmaps', fieldPaths: ['data.watched'] }
    await set({}, controller({ inputResources: [watched] }), policy(), input('a', { watched: '1', noise: '1' }))
    hook.takeCalls()
    await stage.apply(input('a', { watched: '1', noise: '2' }))
    expect(hook.takeCalls()).toEqual([])
    await stage.apply(input('a', { watched: '2', noise: '2' }))
    expect(hook.takeCalls()).toEqual(['a'])
  })
})
