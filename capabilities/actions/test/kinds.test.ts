// Kinds of one name in several groups and versions, and the requests of pages of other sites.
import { actions, crds, defaults } from '@fairlead/actions'
import type { ActionService, Caller } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'

let server: ApiServer
let service: ActionService
let admin: Client
let caller: Caller
const stack = new AsyncDisposableStack()

const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'deployments.aaa.example.com' },
  spec: {
    group: 'aaa.example.com',
    scope: 'Namespaced',
    names: { kind: 'Deployment', plural: 'deployments' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}
const labels = { app: 'web' }
const own: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
}
const web = { kind: 'Deployment', namespace: 'default', name: 'web' }

beforeAll(async () => {
  server = stack.use(await ApiServer.start())
  admin = server.client({ manager: 'kubectl' })
  const manager = stack.use(await Manager.start({ client: server.client(), crds }))
  const instance = await actions.setup(manager, { resolve: new Map(), signal: new AbortController().signal })
  stack.defer(() => instance.stop())
  for (const route of instance.routes ?? []) server.serve(route)
  service = instance.service
  caller = { client: admin, user: { name: 'admin', groups: [] } }
  for (const object of defaults) await admin.apply(object)
  await admin.create(own)
  await eventually(async () => expect((await service.menu(caller, web)).actions).not.toEqual([]))
  await admin.create(definition)
  await eventually(() => admin.create({ ...own, apiVersion: 'aaa.example.com/v1', spec: {} }))
})

afterAll(() => stack.disposeAsync())

describe('a custom kind with the name of a built-in one', () => {
  test('takes no name from the built-in kind', async () => {
    expect((await service.menu(caller, web)).resource.apiVersion).toBe('apps/v1')
    expect((await service.menu(caller, { ...web, kind: 'deployments.apps' })).resource.apiVersion).toBe('apps/v1')
  })

  test('has no default action that would reach the object of the built-in kind', async () => {
    const ref = { ...web, apiVersion: 'aaa.example.com/v1' }
    expect((await service.menu(caller, ref)).actions.filter(({ isEnabled }) => isEnabled)).toEqual([])
    expect((await service.menu(caller, web)).actions.filter(({ isEnabled }) => !isEnabled)).toEqual([])
    await expect(service.run(caller, ref, 'restart')).rejects.toMatchObject({ status: 422 })
    const [job] = await service.run(caller, web, 'restart', { dryRun: true })
    expect(JSON.stringify(job)).toContain('"deployment.apps/web"')
  })

  test('is a 404 once its definition is deleted', async () => {
    const ref = { ...web, kind: 'deployments.aaa.example.com' }
    expect((await service.menu(caller, ref)).resource.apiVersion).toBe('aaa.example.com/v1')
    await admin.delete(
      { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      definition.metadata.name!,
    )
    await eventually(async () => {
      const { status } = await admin.sendRaw({ method: 'GET', path: '/api/actions', query: ref })
      expect(status).toBe(404)
    })
    expect((await service.menu(caller, web)).resource.apiVersion).toBe('apps/v1')
  })
})

test('a version that is served and not preferred is found', async () => {
  await expect(
    service.menu(caller, { ...web, apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler' }),
  ).rejects.toMatchObject({ code: 404, message: expect.stringContaining('"web" not found') as string })
})

test('Applications are an empty list where their kind is not installed', async () => {
  expect(await service.applications.list(caller)).toEqual([])
})

test.each([
  [{ origin: 'https://evil.example' }, 403],
  [{ origin: 'null' }, 403],
  [{ 'content-type': 'text/plain' }, 415],
  [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
])('a run that a page of another site can request is refused: %j', async (headers, status) => {
  const response = await server.inject({
    method: 'POST',
    path: '/api/actions/restart/run?kind=Deployment&namespace=default&name=web',
    headers: { host: 'localhost:6443', ...headers },
    body: '{}',
    user: { name: 'admin', groups: ['system:masters'] },
  } as Parameters<ApiServer['inject']>[0])
  expect(response.status).toBe(status)
})
