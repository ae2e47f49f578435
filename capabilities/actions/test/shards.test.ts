// Replicas divide mappings and maps by the shards of their namespaces.
import { actions } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import { installDefinitions } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { Replicas } from '../../../test/support/replicas.ts'

const namespaces = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']

test('one replica reconciles each mapping, and another one takes over when it dies', async () => {
  await using server = await ApiServer.start({ controllers: ['crd'] })
  const admin = server.client({ manager: 'kubectl' })
  await installDefinitions(admin, actions.crds)
  for (const name of namespaces) await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await using replicas = await Replicas.start(
    new FakeClock(),
    () => server.client().transport,
    async (manager) => {
      const instance = await actions.setup(manager, { resolve: new Map(), signal: new AbortController().signal })
      return () => instance.stop()
    },
  )
  const put = async (mapname: string): Promise<void> => {
    for (const namespace of namespaces)
      await admin.apply({
        apiVersion: 'actions.kappnav.io/v1',
        kind: 'KindActionMapping',
        metadata: { name: 'one', namespace },
        spec: { mappings: [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname }] },
      })
    await replicas.pass(3)
  }
  const status = (namespace: string): string =>
    `PATCH /apis/actions.kappnav.io/v1/namespaces/${namespace}/kindactionmappings/one/status`
  await put('first')
  const expected: Record<string, string[]> = { a: [], b: [] }
  for (const namespace of namespaces) expected[replicas.ownerOf(namespace)]!.push(status(namespace))
  expect(replicas.written('/status')).toEqual(expected)
  expect(Object.values(expected).every((requests) => requests.length > 0)).toBe(true)
  const victim = replicas.ownerOf('n0')
  replicas.cut(victim)
  await replicas.pass(1)
  replicas.written('')
  await put('second')
  await replicas.pass(40)
  expect(replicas.written('/status')[victim === 'a' ? 'b' : 'a']).toEqual(namespaces.map(status))
})
