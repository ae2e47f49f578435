// The status of parents on an embedded server.
import type { ApiServer } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import type { ApiRequest, ApiResponse, Transport } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { failure } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { conditionOf, controller, hook, input, policies, policy, set, stage, startStage, useHook } from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

describe('the status of a parent', () => {
  const revisionsOf = (of: ApiServer): number[] => {
    const revisions: number[] = []
    of.store.watchAll(
      ({ entry }) => void (entry.resource === 'policies.test.example.com' && revisions.push(entry.revision)),
    )
    return revisions
  }

  test('is written at most once a second while counts change, and not at all when nothing changed', async () => {
    await set({}, controller(), policy())
    const written = revisionsOf(stage.server)
    for (let index = 0; index < 20; index++) {
      await stage.apply(input(`i${index}`))
      await stage.pass(0.1)
    }
    await stage.pass(2)
    expect(written.length).toBeGreaterThanOrEqual(2)
    expect(written.length).toBeLessThanOrEqual(4)
    written.length = 0
    await stage.apply(input('i0', { changed: 'yes' }))
    await stage.pass(5)
    expect(written).toEqual([])
  })

  test('keeps status fields of other managers', async () => {
    await set({}, controller(), policy(), input('a'))
    await stage.client.patch(policy(), 'default/all', { merge: { status: { theirs: 1 } } }, { subresource: 'status' })
    await stage.apply(input('b'))
    await stage.pass(3)
    const { status } = await stage.client.get(policy(), 'default/all')
    expect(status).toMatchObject({
      theirs: 1,
      inputs: { configmaps: { total: 2 } },
      outputs: { secrets: { total: 2 } },
    })
  })

  test('is given up with Ready NoStatus when the schema drops its fields', async () => {
    await startStage()
    const strict = structuredClone(policies) as KubeObject & { spec: { versions: { schema: object }[] } }
    strict.spec.versions[0]!.schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          status: { type: 'object' },
        },
      },
    }
    await stage.apply(strict)
    await stage.pass(1)
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(3)
    expect(await conditionOf('Ready')).toEqual({
      status: 'True',
      reason: 'NoStatus',
      message: expect.stringContaining('drops status.inputs'),
    })
  })

  test.each([
    ['drops the counts', { status: { type: 'object' } }, 'NoStatus'],
    ['has no observedGeneration and no outputs', { status: countsOf('inputs') }, 'NoStatus'],
  ])(
    'is written without a restart once a schema that %s has the fields',
    async (_title, { status: lacking }, before) => {
      await startStage()
      const withStatus = (status: object): KubeObject => {
        const definition = structuredClone(policies) as KubeObject & { spec: { versions: { schema: object }[] } }
        const spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
        definition.spec.versions[0]!.schema = { openAPIV3Schema: { type: 'object', properties: { spec, status } } }
        return definition
      }
      await stage.apply(withStatus(lacking))
      await stage.pass(1)
      await stage.apply(controller(), policy(), input('a'))
      await stage.pass(3)
      expect((await conditionOf('Ready'))?.reason).toBe(before)
      const whole = countsOf('inputs', 'outputs')
      await stage.apply(
        withStatus({ ...whole, properties: { ...whole.properties, observedGeneration: { type: 'integer' } } }),
      )
      await stage.pass(5)
      expect((await stage.client.get(policy(), 'default/all')).status).toEqual({
        observedGeneration: 1,
        inputs: { configmaps: { total: 1 } },
        outputs: { secrets: { total: 1 } },
      })
      expect((await conditionOf('Ready'))?.reason).toBe('Serving')
    },
  )

  test('reports the objects of all MapControllers of its parent kind, once each', async () => {
    hook.reply = ({ body }) => {
      const { metadata } = body['controller'] as unknown as KubeObject
      return {
        body: {
          outputs: [{ ...copyOf(body.input), metadata: { name: `${metadata.name}-${body.input.metadata.name}-copy` } }],
        },
      }
    }
    const others = { ...controller(), metadata: { name: 'others' } }
    const picked = {
      ...controller({
        inputResources: [{ apiVersion: 'v1', resource: 'configmaps', labelSelector: { matchLabels: { more: 'yes' } } }],
      }),
      metadata: { name: 'picked' },
    }
    await set({}, controller(), policy(), input('a'), input('b'))
    await stage.apply(others, picked)
    await stage.pass(3)
    const counts = async (): Promise<unknown> => (await stage.client.get(policy(), 'default/all')).status
    expect(await counts()).toMatchObject({ inputs: { configmaps: { total: 2 } }, outputs: { secrets: { total: 4 } } })
    await stage.apply(input('c'))
    await stage.pass(3)
    expect(await counts()).toMatchObject({ inputs: { configmaps: { total: 3 } }, outputs: { secrets: { total: 6 } } })
    await stage.client.delete({ apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController' }, 'others')
    await stage.pass(3)
    expect(await counts()).toMatchObject({ inputs: { configmaps: { total: 3 } }, outputs: { secrets: { total: 6 } } })
    const written = revisionsOf(stage.server)
    await stage.pass(30)
    expect(written).toEqual([])
  })

  test('is written where its schema has defaults of its own beside the counts', async () => {
    await startStage()
    const defaulted = structuredClone(policies) as KubeObject & { spec: { versions: { schema: object }[] } }
    const total = { type: 'integer' }
    const counted = { type: 'object', properties: { total, ready: { type: 'integer', default: 0 } } }
    const section = (plural: string): object => ({ type: 'object', properties: { [plural]: counted } })
    defaulted.spec.versions[0]!.schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          status: {
            type: 'object',
            properties: { observedGeneration: total, inputs: section('configmaps'), outputs: section('secrets') },
          },
        },
      },
    }
    await stage.apply(defaulted)
    await stage.pass(1)
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(3)
    await stage.apply(input('b'))
    await stage.pass(3)
    const { status } = await stage.client.get(policy(), 'default/all')
    expect(status).toEqual({
      observedGeneration: 1,
      inputs: { configmaps: { total: 2, ready: 0 } },
      outputs: { secrets: { total: 2, ready: 0 } },
    })
    expect((await conditionOf('Ready'))?.reason).toBe('Serving')
  })

  test.each([
    ['observedGeneration', { inputs: true, outputs: true }, 'Serving', 'Every group is served'],
    ['outputs', { observedGeneration: true, inputs: true }, 'NoStatus', 'has no status.outputs;'],
    ['total of outputs', { inputs: true, outputs: ['count'] }, 'NoStatus', 'has no status.outputs.secrets.total;'],
  ])('has what its schema knows, when that has no %s', async (_, fields, reason, message) => {
    await startStage()
    const strict = structuredClone(policies) as KubeObject & { spec: { versions: { schema: object }[] } }
    const integer = { type: 'integer' }
    const open = { type: 'object', additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true } }
    const counted = { type: 'object', additionalProperties: { type: 'object', properties: { count: integer } } }
    const schemaOf = ([name, value]: [string, unknown]): [string, object] => [
      name,
      name === 'observedGeneration' ? integer : value === true ? open : counted,
    ]
    strict.spec.versions[0]!.schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          status: { type: 'object', properties: Object.fromEntries(Object.entries(fields).map(schemaOf)) },
        },
      },
    }
    await stage.apply(strict)
    await stage.pass(1)
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(10)
    const { status } = await stage.client.get(policy(), 'default/all')
    expect(status).toMatchObject({ inputs: { configmaps: { total: 1 } } })
    expect(await conditionOf('Ready')).toEqual({ status: 'True', reason, message: expect.stringContaining(message) })
  })

  test('comes back when another client removes it', async () => {
    await set({}, controller(), policy(), input('a'))
    const before = (await stage.client.get(policy(), 'default/all')).status
    await stage.client.patch(policy(), 'default/all', { merge: { status: null } }, { subresource: 'status' })
    await stage.pass(3)
    expect((await stage.client.get(policy(), 'default/all')).status).toEqual(before)
  })

  test.each([
    ['the write', ({ method }: ApiRequest) => method === 'PATCH'],
    ['the write and the read after it', () => true],
  ])('is written once the parent kind is served again, when %s was answered 404', async (_title, isRefused) => {
    let isServed = true
    const controllerClient = (server: ApiServer): Client =>
      new Client({
        transport: withoutPolicies(server.transport(), (request) => !isServed && isRefused(request)),
        clock: server.clock,
        random: () => 0.5,
      })
    await set({ controllerClient }, controller(), policy(), input('a'))
    isServed = false
    await stage.apply(input('b'))
    await stage.pass(20)
    isServed = true
    await stage.pass(10)
    const { status } = await stage.client.get(policy(), 'default/all')
    expect(status).toMatchObject({ inputs: { configmaps: { total: 2 } } })
  })
})

/** Returns the schema of a status with these counts. */
function countsOf(...fields: readonly string[]): { type: string; properties: Record<string, object> } {
  const total = { type: 'object', properties: { total: { type: 'integer' } } }
  const counts = { type: 'object', additionalProperties: total }
  return { type: 'object', properties: Object.fromEntries(fields.map((field) => [field, counts])) }
}

/** Responds 404 to requests for single policies, as a server that does not serve the kind does. */
function withoutPolicies(inner: Transport, isRefused: (request: ApiRequest) => boolean): Transport {
  const { status } = failure(404, 'NotFound', 'the server could not find the requested resource')
  const response = { status: 404, headers: {}, body: status, warnings: [] } as unknown as ApiResponse
  return {
    address: inner.address,
    request: async (sent) => (sent.path.includes('/policies/') && isRefused(sent) ? response : inner.request(sent)),
    watch: (sent) => inner.watch(sent),
    as: (who) => withoutPolicies(inner.as(who), isRefused),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  }
}
