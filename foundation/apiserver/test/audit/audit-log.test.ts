// The audit log: the events of requests, and the file that they are appended to.
import { readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ApiServer, AuditFile } from '@fairlead/apiserver'
import type { UserInfo } from '@fairlead/apiserver'
import { FakeClock } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'

let server: ApiServer
let events: JsonObject[]
const clock = new FakeClock('2026-01-02T03:04:05Z')
const token = 'alice-token'
const alice: UserInfo = { name: 'alice', uid: 'u1', groups: ['devs'] }
const path = '/api/v1/namespaces/default/secrets'

beforeEach(async () => {
  events = []
  const audit = { write: (event: JsonObject) => void events.push(event) }
  server = await ApiServer.start({
    clock,
    audit,
    controllers: false,
    authorization: 'RBAC',
    tokens: [{ token, user: alice }],
  })
  events = []
})
afterEach(() => server[Symbol.asyncDispose]())

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Sends a request over HTTPS. Resolves with its status when the head of the response is there. */
async function send({ method, path: target, headers = {}, body }: Sent): Promise<number> {
  const { host, port, certificateAuthority: ca } = await (listening ??= server.listen())
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ host, port, ca, method, path: target, headers, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode!)
      if (target.includes('watch')) sent.destroy()
    })
    sent.on('error', reject).end(body)
  })
}
let listening: ReturnType<ApiServer['listen']> | undefined
afterEach(() => (listening = undefined))

const bearer = { authorization: `Bearer ${token}`, 'user-agent': 'kubectl/v1.35.4' }
const ownUser = { username: 'alice', uid: 'u1', groups: ['devs', 'system:authenticated'] }

test('a refused request is an event with its user, object and decision, and without its body', async () => {
  await server.listen()
  events = []
  const body = JSON.stringify({ metadata: { name: 'db' }, stringData: { password: 'hunter2' } })
  const headers = { ...bearer, 'content-type': 'application/json' }
  expect(await send({ method: 'POST', path: `${path}?dryRun=All`, headers, body })).toBe(403)
  const [event] = events.filter(({ userAgent }) => userAgent === 'kubectl/v1.35.4')
  expect(event).toEqual({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    stage: 'ResponseComplete',
    requestURI: `${path}?dryRun=All`,
    verb: 'create',
    user: ownUser,
    sourceIPs: [expect.stringContaining('127.0.0.1')],
    userAgent: 'kubectl/v1.35.4',
    objectRef: { resource: 'secrets', namespace: 'default', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 403 },
    requestReceivedTimestamp: '2026-01-02T03:04:05.000000Z',
    stageTimestamp: '2026-01-02T03:04:05.000000Z',
    annotations: {
      'authorization.k8s.io/decision': 'forbid',
      'authorization.k8s.io/reason': expect.any(String) as string,
    },
  })
  expect(JSON.stringify(events)).not.toContain('hunter2')
})

test('a request without a known user, a health check and an impersonation', async () => {
  expect(await send({ method: 'GET', path, headers: { authorization: 'Bearer wrong' } })).toBe(401)
  expect(await send({ method: 'GET', path: '/readyz' })).toBe(200)
  const admin = { name: 'root', groups: ['system:masters'] }
  const headers = { 'impersonate-user': 'bob', 'content-type': 'application/json' }
  await server.inject({ method: 'DELETE', path: `${path}/a`, user: admin, headers })
  const seen = events.filter(({ objectRef }) => (objectRef as JsonObject | undefined)?.['resource'] === 'secrets')
  expect(
    seen.map(({ verb, user, impersonatedUser, responseStatus }) => [verb, user, impersonatedUser, responseStatus]),
  ).toEqual([
    ['list', {}, undefined, { metadata: {}, code: 401 }],
    [
      'delete',
      { username: 'root', groups: ['system:masters'] },
      { username: 'bob', groups: ['system:authenticated'] },
      { metadata: {}, code: 403 },
    ],
  ])
  expect(events.some(({ requestURI }) => requestURI === '/readyz')).toBe(false)
})

test('writes of controllers in this process are events, their reads are not, and a created object is named', async () => {
  const user = { name: 'controller', groups: ['system:masters'] }
  const body = { metadata: { generateName: 'made-' } }
  await server.inject({ method: 'GET', path, user })
  const made = await server.inject({ method: 'POST', path, user, body })
  const { metadata } = made.json() as { metadata: { name: string } }
  expect(events.map(({ verb, objectRef }) => [verb, (objectRef as JsonObject)['name']])).toEqual([
    ['create', metadata.name],
  ])
})

test('the file is appended to and read by its owner alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-audit-'))
  try {
    const file = join(folder, 'audit.log')
    for (const run of [1, 2]) {
      await using audit = await AuditFile.open(file, () => undefined)
      audit.write({ run })
    }
    expect(readFileSync(file, 'utf8')).toBe('{"run":1}\n{"run":2}\n')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await expect(AuditFile.open(join(folder, 'none/audit.log'), () => undefined)).rejects.toThrow('ENOENT')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
