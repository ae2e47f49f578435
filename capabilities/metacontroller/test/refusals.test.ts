// Responses that the server refuses: no output is lost to them.
import { Client } from '@fairlead/client'
import type { ApiResponse, Transport } from '@fairlead/client'
import { failure } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
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

/** Responds to the creations of Secrets, not to their dry runs, as `refusal` says. */
function refusing(inner: Transport, refusal: () => ApiResponse | undefined): Transport {
  return {
    address: inner.address,
    request: async (sent) => {
      const isCreation = sent.method === 'PATCH' && sent.path.includes('/secrets/') && !sent.query?.['dryRun']
      return (isCreation ? refusal() : undefined) ?? inner.request(sent)
    },
    watch: (sent) => inner.watch(sent),
    as: (who) => refusing(inner.as(who), refusal),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  }
}

describe('under Recreate, an output whose creation fails after its deletion is created again', () => {
  const response = (code: number, reason: string, name: string): ApiResponse => {
    const { status } = failure(code, reason, 'the test refuses')
    return { status: code, headers: {}, body: { ...status, details: { name } } as unknown as JsonObject, warnings: [] }
  }
  test.each<[string, number, ApiResponse]>([
    ['a kind that is not served', 200, response(404, 'NotFound', '')],
    ['a server that is not available', 200, response(503, 'ServiceUnavailable', '')],
    ['another object that was not found', 20, response(404, 'NotFound', 'default')],
    ['a conflict over a quota', 20, response(409, 'Conflict', 'quota')],
  ])('within a minute after %s for %i seconds', async (_title, seconds, refused) => {
    let refusals = 0
    let isRefusing = false
    await set(
      {
        controllerClient: (server) =>
          new Client({
            transport: refusing(server.transport(), () => {
              if (!isRefusing) return undefined
              refusals++
              return refused
            }),
            clock: server.clock,
            random: () => 0.5,
          }),
      },
      controller({ outputResources: byMethod('Recreate') }),
      policy(),
      input('a'),
    )
    isRefusing = true
    hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), data: { more: 'ZGF0YQ==' } }] } })
    await stage.apply(input('a', { more: 'data' }))
    await stage.pass(seconds)
    expect([await names(secrets), refusals > 0]).toEqual([[], true])
    isRefusing = false
    await stage.pass(60)
    expect(await names(secrets)).toEqual(['a-copy'])
  })
})
