// Names that two writers want: the object that is there stays as it is, and nothing turns in circles.
import type { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { recorded } from '../../../test/support/recorded-client.ts'
import { controller, hook, input, policies, policy, secrets, set, stage, startStage, useHook } from './copies.ts'
import { copyOf } from './hook.ts'

useHook()

/** An expression that makes a Secret of the input's data, with a label of the parent. */
const expression = `[{"apiVersion": "v1", "kind": "Secret",
  "metadata": {"name": input.metadata.name + "-copy", "labels": {"by": parent.metadata.name}},
  "stringData": input.data}]`

const inPlace = [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }]

describe('two parents that want one name', () => {
  test('leave the process responsive with an expression hook, and retry by backoff alone', async () => {
    let patches = 0
    const controllerClient = (server: ApiServer): Client => {
      const { client, transport } = recorded(server.client())
      transport.before = (request) => {
        if (request.path.includes('/secrets/')) patches++
      }
      return client
    }
    await set(
      { controllerClient },
      controller({ outputResources: inPlace }, { map: { expression } }),
      policy('one'),
      policy('two'),
      ...['a', 'b', 'c'].map((name) => input(name, { port: '1' })),
    )
    await stage.apply(...['a', 'b', 'c'].map((name) => input(name, { port: '2' })))
    await stage.pass(1)
    patches = 0
    await stage.apply(...['a', 'b', 'c'].map((name) => input(name, { port: '3' })))
    await stage.pass(1)
    const found = (await stage.client.list(secrets, { namespace: 'default' })).items
    expect(found.map(({ data }) => data)).toEqual(found.map(() => ({ port: 'Mw==' })))
    expect(patches).toBeLessThan(50)
  })

  test.each([
    ['with the same values', false],
    ['with other values', true],
  ])('at the same time leave the object of the first as it is, %s', async (_title, differ) => {
    hook.reply = ({ body }) => ({
      body: {
        outputs: [{ ...copyOf(body.input), data: differ ? { by: Buffer.from(body.parent.metadata.name ?? '').toString('base64') } : {} }],
      },
    })
    // Both read the name before either creates it.
    let reads = 0
    let release = (): void => {}
    const both = new Promise<void>((resolve) => (release = resolve))
    const controllerClient = (server: ApiServer): Client => {
      const { client, transport } = recorded(server.client())
      transport.after = async ({ method, path }) => {
        if (method !== 'GET' || !path.endsWith('/secrets/a-copy') || ++reads > 2) return
        if (reads === 2) release()
        await both
      }
      return client
    }
    await set({ controllerClient }, controller({ outputResources: inPlace }), policy('one'), policy('two'))
    await stage.during(stage.client.apply(input('a')))
    await stage.pass(5)
    const found = await stage.client.get(secrets, 'default/a-copy')
    const [owner] = found.metadata.ownerReferences ?? []
    expect(reads).toBeGreaterThanOrEqual(2)
    expect(found.metadata.annotations?.['metacontroller.k8s.io/map-parent']).toBe(
      `Policy.test.example.com/default/${owner?.name}`,
    )
    expect(Object.keys(found.metadata.labels ?? {})).toEqual(['metacontroller.k8s.io/map-key'])
    expect(found.data).toEqual(differ ? { by: Buffer.from(owner?.name ?? '').toString('base64') } : undefined)
  })
})

describe('a name that a foreign object takes', () => {
  test('while an output is created leaves that object as it is', async () => {
    const theirs: KubeObject = {
      ...secrets,
      metadata: { name: 'a-copy', namespace: 'default', labels: { by: 'hand' } },
      data: { made: 'YnloYW5k' },
    }
    let raced = false
    await startStage({
      controllerClient: (server) => {
        const { client, transport } = recorded(server.client())
        transport.before = async (request) => {
          if (request.method !== 'PATCH' || raced || !request.path.endsWith('/a-copy')) return
          raced = true
          await server.client({ manager: 'kubectl' }).create(theirs)
        }
        return client
      },
    })
    await stage.apply(policies)
    await stage.pass(1)
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(5)
    const { metadata, data } = await stage.client.get(secrets, 'default/a-copy')
    expect([raced, data, metadata.labels, metadata.annotations, metadata.ownerReferences]).toEqual([
      true,
      theirs.data,
      { by: 'hand' },
      undefined,
      undefined,
    ])
  })
})
