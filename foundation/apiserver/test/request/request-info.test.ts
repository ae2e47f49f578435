// The meaning of a request's method, path and parameters, as authorizers, handlers and metrics see it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '@fairlead/kube'
import { failureOf, TestApi } from '../support/api.ts'

let api: TestApi

beforeEach(async () => {
  api = await TestApi.start()
})

afterEach(() => api[Symbol.asyncDispose]())

const configMap = (name: string): JsonObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })

test('a list in a namespace named watch is a list', async () => {
  const path = await api.namespace('watch')
  await api.post(path, configMap('a'))
  const { body } = await api.get(`${path}?timeoutSeconds=1`)
  expect([body['kind'], (body['items'] as unknown as JsonObject[]).length]).toEqual(['ConfigMapList', 1])
})

test('the timeout of a request in a namespace named watch is checked', async () => {
  await api.namespace('watch')
  const response = await api.get('/api/v1/namespaces/watch/configmaps?timeout=soon&timeoutSeconds=1')
  expect(failureOf(response)).toMatchObject({ status: 400, reason: 'BadRequest' })
})

test('watch=true on a named object gets the object', async () => {
  const path = await api.namespace('n')
  await api.post(path, configMap('a'))
  expect((await api.get(`${path}/a?watch=true`)).body['kind']).toBe('ConfigMap')
  const { text } = await api.get('/metrics')
  const counted = text.split('\n').filter((line) => /^apiserver_request_total.*resource="configmaps"/.test(line))
  expect(counted.map((line) => /verb="(\w+)"/.exec(line)?.[1]).toSorted()).toEqual(['GET', 'POST'])
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s on a /watch/ path is not allowed', async (method) => {
  const path = await api.namespace('n')
  await api.post(path, configMap('a'))
  const { status } = await api.send(method, '/api/v1/watch/namespaces/n/configmaps/a', configMap('a'), {
    contentType: method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  })
  expect([status, (await api.get(`${path}/a`)).status]).toEqual([405, 200])
})

test('a /watch/ path with a name watches that object alone', async () => {
  const path = await api.namespace('n')
  await api.post(path, configMap('a'))
  await api.post(path, configMap('b'))
  const events = await api.events('/api/v1/watch/namespaces/n/configmaps/a?timeoutSeconds=1')
  expect(events.map(({ type, object }) => [type, object.metadata['name']])).toEqual([['ADDED', 'a']])
})
