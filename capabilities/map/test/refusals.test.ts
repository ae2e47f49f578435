// Responses that the server refuses: no output is lost to them.
import { describe, expect, test } from 'vitest'
import { conditionOf, controller, hook, input, names, policy, secrets, set, stage, useHook } from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

const byMethod = (method: string): object[] => [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method } }]

describe('a response that the server refuses', () => {
  test.each<[string, string, object]>([
    ['with an invalid name', 'InPlace', { metadata: { name: 'Bad_Name!' } }],
    ['with a name that is too long', 'InPlace', { metadata: { name: 'x'.repeat(300) } }],
    ['with an invalid label', 'InPlace', { metadata: { name: 'other', labels: { app: 'not a value!' } } }],
    ['with a value of the wrong type', 'InPlace', { metadata: { name: 'other' }, data: 'text' }],
    ['with a value of the wrong type', 'Recreate', { data: 'text' }],
    ['with an invalid value', 'Recreate', { data: { 'not a key!': '' } }],
    ['with an unknown field', 'Recreate', { unknown: 'field' }],
    ['with an invalid finalizer', 'Recreate', { metadata: { name: 'a-copy', finalizers: ['no domain!'] } }],
  ])('%s deletes no output under %s', async (_title, method, wrong) => {
    await set({}, controller({ outputResources: byMethod(method) }), policy(), input('a'))
    const before = await stage.client.get(secrets, 'default/a-copy')
    hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), ...wrong }] } })
    await stage.apply(input('a', { more: 'data' }))
    await stage.pass(5)
    const after = await stage.client.get(secrets, 'default/a-copy')
    expect(after.metadata.uid).toBe(before.metadata.uid)
    expect((await stage.client.list(secrets, { namespace: 'default' })).items.length).toBe(1)
    expect((await conditionOf('Ready'))?.reason).toBe('GroupsFailing')
  })

  test('for one of several outputs deletes none that the response leaves out', async () => {
    hook.reply = ({ body }) => ({
      body: { outputs: ['one', 'two'].map((name) => ({ ...copyOf(body.input), metadata: { name: `${name}-copy` } })) },
    })
    await set({}, controller({ outputResources: byMethod('InPlace') }), policy(), input('a'))
    await stage.apply({ ...secrets, metadata: { name: 'taken-copy', namespace: 'default' } })
    hook.reply = ({ body }) => ({
      body: {
        outputs: ['one', 'taken'].map((name) => ({ ...copyOf(body.input), metadata: { name: `${name}-copy` } })),
      },
    })
    await stage.apply(input('a', { more: 'data' }))
    await stage.pass(2)
    expect((await names(secrets)).toSorted()).toEqual(['one-copy', 'taken-copy', 'two-copy'])
  })
})
