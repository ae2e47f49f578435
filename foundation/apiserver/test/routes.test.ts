// HTTP routes of capabilities: authorization, clients, body limits and upgrades.
import { once } from 'node:events'
import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Authenticator, Listening, UserInfo } from '@fairlead/apiserver'
import type { Route, RouteResponse } from '@fairlead/controller'
import { AsyncDisposableStack, asJson, notFound } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'

/** Authenticates like the console: a cookie has the user. */
const cookies: Authenticator = {
  name: 'cookies',
  authenticate: async ({ headers }) => {
    const name = /(?:^|; )user=([a-z]+)/.exec(String(headers['cookie'] ?? ''))?.[1]
    return name === undefined ? undefined : { name, groups: [] }
  },
}

let cleanup: AsyncDisposableStack
let server: ApiServer
let listening: Listening
let agent: Agent

beforeEach(async () => {
  cleanup = new AsyncDisposableStack()
  server = cleanup.use(
    await ApiServer.start({ storage: memory(), authorization: 'RBAC', controllers: false, authenticators: [cookies] }),
  )
  listening = await server.listen()
  agent = new Agent({ ca: listening.certificateAuthority })
  cleanup.defer(() => agent.destroy())
  await grant('caller', [
    { nonResourceURLs: ['/notes', '/notes/*', '/plain/*', '/api/below/*'], verbs: ['get', 'post'] },
  ])
  await grant('reader', [
    { nonResourceURLs: ['/notes/*'], verbs: ['get'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  ])
})

afterEach(() => cleanup.disposeAsync())

async function grant(name: string, rules: JsonObject[]): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const group = 'rbac.authorization.k8s.io'
  const objects: KubeObject[] = [
    { apiVersion, kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ apiGroup: group, kind: 'User', name }],
    },
  ]
  for (const object of objects) await server.client().create(object)
}

const notes: Route = {
  prefix: '/notes',
  bodyLimit: 2000,
  handle: async ({ method, path, query, body, user, client }): Promise<RouteResponse | undefined> => {
    switch (path[0]) {
      case 'echo':
        return {
          status: 200,
          body: { method, path: [...path], query: query.toString(), body: body.length, user: user.name },
        }
      case 'read':
        return {
          status: 200,
          body: { data: asJson(await client.get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/a'))['data'] ?? {} },
        }
      case 'missing':
        throw notFound({ group: '', plural: 'notes' }, 'x')
      default:
        return undefined
    }
  },
  upgrade: async ({ path, user, signal }) => {
    if (path[0] !== 'live') return undefined
    return ({ socket, head }) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: shout\r\n\r\n')
      const shout = (bytes: Buffer): void => void socket.write(`${user.name}: ${bytes.toString().toUpperCase()}`)
      if (head.length > 0) shout(head)
      socket.on('data', shout)
      signal.addEventListener('abort', () => socket.end('bye'))
    }
  },
}

async function call(
  user: UserInfo | undefined,
  method: string,
  path: string,
  body?: string,
): Promise<[number, unknown]> {
  const answer = await server.inject({ method, path, ...(user && { user }), ...(body !== undefined && { body }) })
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return [answer.status, isJson ? answer.json() : answer.body]
}

interface Answer {
  readonly status: number
  readonly text: string
}

async function overHttps(path: string, headers: OutgoingHttpHeaders, method = 'GET', body?: string): Promise<Answer> {
  const request = httpsRequest({ host: listening.host, port: listening.port, path, method, headers, agent })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString()
  return { status: response.statusCode!, text }
}

const as = (name: string): UserInfo => ({ name, groups: [] })

test('a capability route requires permission for its path', async () => {
  server.serve(notes)
  expect(await call(as('caller'), 'POST', '/notes/echo/a%2Fb?x=1', 'hello')).toEqual([
    200,
    { method: 'POST', path: ['echo', 'a/b'], query: 'x=1', body: 5, user: 'caller' },
  ])
  expect((await call(as('reader'), 'POST', '/notes/echo'))[0]).toBe(403)
  expect(await call(as('stranger'), 'GET', '/notes/echo')).toMatchObject([
    403,
    { message: 'forbidden: User "stranger" cannot get path "/notes/echo"' },
  ])
  expect((await call(undefined, 'GET', '/notes/echo'))[0]).toBe(403)
})

test('a capability route may have a prefix below /api/', async () => {
  server.serve({ ...notes, prefix: '/api/below' })
  expect(await call(as('caller'), 'GET', '/api/below/echo/x/y/z')).toMatchObject([
    200,
    { path: ['echo', 'x', 'y', 'z'] },
  ])
})

test('the client of a capability route acts as the user of the request', async () => {
  server.serve(notes)
  await server
    .client()
    .create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' }, data: { k: 'v' } })
  expect(await call(as('reader'), 'GET', '/notes/read')).toEqual([200, { data: { k: 'v' } }])
  expect(await call(as('caller'), 'GET', '/notes/read')).toMatchObject([
    403,
    {
      message:
        'configmaps "a" is forbidden: User "caller" cannot get resource "configmaps" in API group "" in the namespace "default"',
    },
  ])
})

test('errors and unknown paths of a capability route become Statuses', async () => {
  server.serve(notes)
  expect(await call(as('caller'), 'GET', '/notes/missing')).toMatchObject([404, { message: 'notes "x" not found' }])
  expect((await call(as('caller'), 'GET', '/notes/nothing'))[0]).toBe(404)
  expect((await call(as('caller'), 'GET', '/plain/nothing'))[0]).toBe(404)
})

test('a capability route limits bodies over HTTPS and in process', async () => {
  server.serve(notes)
  const send = async (length: number): Promise<[number, number]> => [
    (await call(as('caller'), 'POST', '/notes/echo', 'x'.repeat(length)))[0],
    (await overHttps('/notes/echo', { cookie: 'user=caller' }, 'POST', 'x'.repeat(length))).status,
  ]
  expect(await send(2000)).toEqual([200, 200])
  expect(await send(2001)).toEqual([413, 413])
})

test('additional authenticators authenticate requests to a capability route', async () => {
  server.serve(notes)
  expect(JSON.parse((await overHttps('/notes/echo', { cookie: 'a=b; user=reader' })).text)).toMatchObject({
    user: 'reader',
  })
})

async function upgrade(path: string, user: string): Promise<{ socket: Duplex } | Answer> {
  const headers = { cookie: `user=${user}`, connection: 'upgrade', upgrade: 'shout' }
  const request = httpsRequest({ host: listening.host, port: listening.port, path, headers, agent })
  request.end()
  const upgraded = once(request, 'upgrade').then(([, socket]) => ({ socket: socket as Duplex }))
  const answered = once(request, 'response').then(async ([response]) => {
    let text = ''
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString()
    return { status: (response as IncomingMessage).statusCode!, text }
  })
  return Promise.race([upgraded, answered])
}

test('a capability route upgrades connections of users who may get the path, until the server closes', async () => {
  server.serve(notes)
  const opened = await upgrade('/notes/live', 'reader')
  if (!('socket' in opened)) throw new Error(`answered ${opened.status} ${opened.text}`)
  opened.socket.write('hello')
  expect(String((await once(opened.socket, 'data'))[0])).toBe('reader: HELLO')
  const last = once(opened.socket, 'data')
  await cleanup.disposeAsync()
  expect(String((await last)[0])).toBe('bye')
})

test.each([
  ['/notes/live', 'stranger', 403, 'User \\"stranger\\" cannot get path'],
  ['/notes/other', 'reader', 404, '404 page not found'],
  ['/notes/%zz', 'reader', 400, 'invalid URL escape'],
  // No route upgrades these: the Upgrade header is ignored.
  ['/version', 'reader', 200, '+fairlead'],
  ['/api/v1/namespaces/default/pods/a/exec', 'reader', 403, 'pods'],
])('a request to change the protocol at %s by %s is answered %i', async (path, user, status, text) => {
  server.serve(notes)
  expect(await upgrade(path, user)).toEqual({ status, text: expect.stringContaining(text) })
})
