import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'

const samples = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))

const user = { name: 'admin', groups: ['system:masters'] }

async function scrape(server: ApiServer): Promise<string> {
  const answer = await server.inject({ user, method: 'GET', path: '/metrics' })
  expect(answer.status).toBe(200)
  return answer.body
}

test('counts requests under the labels of the real server', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
  const headers = { 'content-type': 'application/json' }
  const collection = '/api/v1/namespaces/default/configmaps'
  await server.inject({ user, method: 'POST', path: collection, headers, body })
  await server.inject({ user, method: 'POST', path: collection, headers, body })
  await server.inject({ user, method: 'POST', path: `${collection}?dryRun=All`, headers, body })
  await server.inject({ user, method: 'GET', path: `${collection}/a` })
  await server.inject({ user, method: 'GET', path: '/api/v1/configmaps' })
  await server.inject({ user, method: 'GET', path: `${collection}?watch=true&timeoutSeconds=1` })
  await server.inject({
    user,
    method: 'PATCH',
    path: `${collection}/a?fieldManager=m`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body,
  })
  const text = await scrape(server)
  const labels = (verb: string, scope: string, dryRun = ''): string =>
    `verb="${verb}",dry_run="${dryRun}",group="",version="v1",resource="configmaps",subresource="",scope="${scope}",component="apiserver"`
  expect(samples(text, 'apiserver_request_total').sort()).toEqual(
    [
      `apiserver_request_total{${labels('POST', 'resource')},code="201"} 1`,
      `apiserver_request_total{${labels('POST', 'resource')},code="409"} 1`,
      `apiserver_request_total{${labels('POST', 'resource', 'All')},code="409"} 1`,
      `apiserver_request_total{${labels('GET', 'resource')},code="200"} 1`,
      `apiserver_request_total{${labels('LIST', 'cluster')},code="200"} 1`,
      `apiserver_request_total{${labels('WATCH', 'namespace')},code="200"} 1`,
      `apiserver_request_total{${labels('APPLY', 'resource')},code="200"} 1`,
    ].sort(),
  )
  expect(samples(text, 'apiserver_request_duration_seconds_count')).toContain(
    `apiserver_request_duration_seconds_count{${labels('POST', 'resource')}} 2`,
  )
  expect(text).not.toMatch(/apiserver_request_duration_seconds_count{verb="WATCH"/)
  expect(samples(text, 'apiserver_current_inflight_requests')).toEqual([
    'apiserver_current_inflight_requests{request_kind="mutating"} 0',
    'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
  ])
  expect(samples(text, 'apiserver_resource_objects')).toContain(
    'apiserver_resource_objects{group="",resource="configmaps"} 1',
  )
})

test('exports the event loop lag', async () => {
  await using server = await ApiServer.start({ controllers: false })
  expect(samples(await scrape(server), 'nodejs_eventloop_lag_p99_seconds')).toHaveLength(1)
})

test('requests for unknown paths and resources share one series', async () => {
  await using server = await ApiServer.start({ controllers: false })
  for (let index = 0; index < 50; index++) {
    await server.inject({ user, method: 'GET', path: `/apis/g${index}/v1/things` })
    await server.inject({ user, method: `M${index}`, path: `/else/${index}` })
  }
  const text = await scrape(server)
  expect(samples(text, 'apiserver_request_total').length).toBeLessThan(6)
})

test('histogram buckets are cumulative up to the number of requests', async () => {
  await using server = await ApiServer.start({ controllers: false })
  for (let index = 0; index < 3; index++) await server.inject({ user, method: 'GET', path: '/version' })
  const text = await scrape(server)
  const values = samples(text, 'apiserver_request_duration_seconds_bucket')
    .filter((line) => line.includes('subresource="/version"'))
    .map((line) => Number(line.split(' ').at(-1)))
  expect(values).toHaveLength(24)
  expect(values).toEqual([...values].sort((a, b) => a - b))
  expect(values.at(-1)).toBe(3)
})

test('users who may not GET /metrics are forbidden to', async () => {
  await using server = await ApiServer.start({ controllers: false, authorization: 'RBAC' })
  const answer = await server.inject({ method: 'GET', path: '/metrics', user: { name: 'eve', groups: ['devs'] } })
  expect(answer.status).toBe(403)
})
