// ComponentStatuses. The forms are those of kube-apiserver 1.35.4.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { TestApi } from '../support/api.ts'

const path = '/api/v1/componentstatuses'

const healthy = { type: 'Healthy', status: 'True', message: 'ok' }
const scheduler = {
  metadata: { name: 'scheduler' },
  conditions: [{ type: 'Healthy', status: 'False', message: 'Nothing schedules Pods here.' }],
}
const controllerManager = { metadata: { name: 'controller-manager' }, conditions: [healthy] }
const etcd = { metadata: { name: 'etcd-0' }, conditions: [healthy] }

describe('ComponentStatuses', () => {
  let api: TestApi
  beforeAll(async () => {
    api = await TestApi.start({ controllers: ['gc'] })
  })
  afterAll(() => api[Symbol.asyncDispose]())

  test.each([
    ['all', '', [scheduler, controllerManager, etcd]],
    ['the one that a field selector names', '?fieldSelector=metadata.name%3Detcd-0', [etcd]],
    ['none with a label', '?labelSelector=a%3Db', []],
  ])('a list has %s', async (_, query, items) => {
    const { status, body } = await api.get(`${path}${query}`)
    expect([status, body]).toEqual([200, { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items }])
  })

  test('one is read by its name', async () => {
    const { status, body } = await api.get(`${path}/etcd-0`)
    expect([status, body]).toEqual([200, { kind: 'ComponentStatus', apiVersion: 'v1', ...etcd }])
  })

  test('another name is not found', async () => {
    const { status, body } = await api.get(`${path}/nope`)
    expect([status, body]).toEqual([
      404,
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'componentstatus "nope" not found',
        reason: 'NotFound',
        details: { name: 'nope', kind: 'componentstatus' },
        code: 404,
      },
    ])
  })

  test.each([
    ['a list', path],
    ['one', `${path}/etcd-0`],
  ])('%s is printed as a table', async (_, one) => {
    const { body } = await api.get(one, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
    const rows = body['rows'] as readonly { readonly cells: readonly unknown[] }[]
    expect(rows.map(({ cells }) => cells)).toContainEqual(['etcd-0', 'Healthy', 'ok', ''])
    expect(body).toMatchObject({ kind: 'Table', metadata: {} })
  })
})

test('without controllers the controller manager is not healthy', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const answer = await server.inject({
    method: 'GET',
    path: `${path}/controller-manager`,
    user: { name: 'admin', groups: ['system:masters'] },
  })
  expect(answer.json()).toMatchObject({
    conditions: [{ type: 'Healthy', status: 'False', message: 'No controllers run in this server.' }],
  })
})
