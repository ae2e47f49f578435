// Names that two writers want: the object that is there stays as it is, and nothing turns in circles.
import type { ApiServer } from '@fairlead/apiserver'
import type { ApiRequest, Transport, WatchEvent } from '@fairlead/client'
import { Client, yieldToEventLoop } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { RecordingTransport, recorded } from '../../../test/support/recorded-client.ts'
import { mapKeyLabel } from '../src/engine/tag.ts'
import {
  configMaps,
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

/** An expression that makes a Secret of the input's data, with a label of the parent. */
const expression = `[{"apiVersion": "v1", "kind": "Secret",
  "metadata": {"name": input.metadata.name + "-copy", "labels": {"by": parent.metadata.name}},
  "stringData": input.data}]`

const inPlace = [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }]

/** Turns of the event loop that an event of an output is late. */
const lateness = 50

/** Delivers the events of outputs late: the cache of a single name is ahead of them. */
class LateOutputs extends RecordingTransport {
  override async watch(request: ApiRequest): ReturnType<Transport['watch']> {
    const watch = await super.watch(request)
    const isOfOutputs = String(request.query?.labelSelector ?? '').includes(mapKeyLabel)
    return 'refused' in watch || !isOfOutputs ? watch : { events: late(watch.events) }
  }
}

async function* late(events: AsyncIterable<WatchEvent>): AsyncIterable<WatchEvent> {
  for await (const event of events) {
    for (let turns = 0; turns < lateness; turns++) await yieldToEventLoop()
    yield event
  }
}

describe('two parents that want one name', () => {
  test('leave the process responsive with an expression hook while one cache lags behind the other', async () => {
    const controllerClient = (server: ApiServer): Client =>
      new Client({ transport: new LateOutputs(server.transport()), clock: server.clock, random: () => 0 })
    const inputs = (port: string): KubeObject[] => ['a', 'b', 'c'].map((name) => input(name, { port }))
    const copies = controller({ outputResources: inPlace }, { map: { expression } })
    await set({ controllerClient }, copies, policy('one'), policy('two'), ...inputs('1'))
    for (const port of ['2', '3']) {
      await stage.apply(...inputs(port))
      await stage.pass(1)
    }
    const runs = stage.controllers.run('copies')?.loop.queue
    const found = (await stage.client.list(secrets, { namespace: 'default' })).items
    expect(found.map(({ data }) => data)).toEqual(found.map(() => ({ port: 'Mw==' })))
    expect(runs?.length).toBe(0)
  })

  test.each([
    ['with the same values', false],
    ['with other values', true],
  ])('at the same time leave the object of the first as it is, %s', async (_title, differ) => {
    hook.reply = ({ body }) => ({
      body: {
        outputs: [
          {
            ...copyOf(body.input),
            data: differ ? { by: Buffer.from(body.parent.metadata.name ?? '').toString('base64') } : {},
          },
        ],
      },
    })
    // Both read the name before either creates it.
    let reads = 0
    let release = (): void => {}
    const both = new Promise<void>((resolve) => (release = resolve))
    const controllerClient = (server: ApiServer): Client => {
      const { client, transport } = recorded(server.client())
      let created = (): void => {}
      const first = new Promise<void>((resolve) => (created = resolve))
      let writes = 0
      transport.before = async ({ method, path }) => {
        if (method === 'PATCH' && path.endsWith('/secrets/a-copy') && ++writes === 2) await first
      }
      transport.after = async ({ method, path }) => {
        if (method === 'PATCH' && path.endsWith('/secrets/a-copy')) created()
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
    hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), data: { made: 'b3Vycw==' } }] } })
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

test('an output whose ignored fields change at the moment of its deletion is deleted all the same', async () => {
  let change: (() => Promise<unknown>) | undefined
  const controllerClient = (server: ApiServer): Client => {
    const { client, transport } = recorded(server.client())
    transport.before = async ({ method }) => {
      const once = method === 'DELETE' ? change : undefined
      if (once !== undefined) change = undefined
      await once?.()
    }
    return client
  }
  const outputResources = [{ apiVersion: 'v1', resource: 'secrets', fieldPaths: ['data'] }]
  await set({ controllerClient }, controller({ outputResources }), policy(), input('a'))
  change = () =>
    stage.client.patch(secrets, 'default/a-copy', { merge: { metadata: { annotations: { seen: 'yes' } } } })
  await stage.client.delete(configMaps, 'default/a')
  await stage.pass(60)
  expect([change, await names(secrets)]).toEqual([undefined, []])
})
