// Watches over WebSocket, with the client of Node and with raw sockets.
import { AsyncDisposableStack } from '@fairlead/kube'
import { once } from 'node:events'
import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Listening } from '@fairlead/apiserver'

let cleanup: AsyncDisposableStack
let server: ApiServer
let listening: Listening
let agent: Agent

beforeEach(async () => {
  cleanup = new AsyncDisposableStack()
  const tokens = [
    { token: 'admin', user: { name: 'admin', groups: ['system:masters'] } },
    { token: 'nobody', user: { name: 'nobody', groups: [] } },
  ]
  server = cleanup.use(await ApiServer.start({ storage: memory(), authorization: 'RBAC', controllers: false, tokens }))
  listening = await server.listen()
  agent = new Agent({ ca: listening.certificateAuthority, keepAlive: false })
  cleanup.defer(() => agent.destroy())
})

afterEach(() => cleanup.disposeAsync())

const configMaps = '/api/v1/namespaces/default/configmaps'
const handshake: OutgoingHttpHeaders = {
  authorization: 'Bearer admin',
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
  origin: 'http://localhost',
}

interface Opened {
  readonly response: IncomingMessage
  readonly socket: Duplex | undefined
  readonly head: Buffer
}

async function open(path: string, headers: OutgoingHttpHeaders = {}, method = 'GET'): Promise<Opened> {
  const { host, port } = listening
  const sent = { ...handshake, ...headers }
  for (const name of Object.keys(sent)) if (sent[name] === undefined) delete sent[name]
  const request = httpsRequest({ host, port, method, path, headers: sent, agent })
  request.end()
  return new Promise((resolve, reject) => {
    request.once('upgrade', (response, socket, head) => {
      cleanup.defer(() => void socket.destroy())
      socket.on('error', () => undefined)
      resolve({ response, socket, head })
    })
    request.once('response', (response) => resolve({ response, socket: undefined, head: Buffer.alloc(0) }))
    request.once('error', reject)
  })
}

interface Frame {
  readonly opcode: number
  readonly payload: Buffer
}

/** Reads the unmasked frames of the server until the connection ends. */
async function* framesOf({ socket, head }: Opened): AsyncGenerator<Frame> {
  let rest = head
  const chunks = socket![Symbol.asyncIterator]() as AsyncIterator<Buffer>
  for (;;) {
    for (;;) {
      const short = (rest[1] ?? 0) & 0x7f
      const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0)
      if (rest.length < start) break
      const length = short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short
      if (rest.length < start + length) break
      yield { opcode: rest[0]! & 0xf, payload: rest.subarray(start, start + length) }
      rest = rest.subarray(start + length)
    }
    const { done, value } = await chunks.next()
    if (done === true) return
    rest = Buffer.concat([rest, value])
  }
}

async function next(frames: AsyncGenerator<Frame>): Promise<[number, unknown]> {
  const { value } = (await frames.next()) as { value: Frame }
  return value.opcode === 1
    ? [1, JSON.parse(value.payload.toString())]
    : [value.opcode, value.opcode === 8 ? value.payload.readUInt16BE(0) : value.payload.toString()]
}

function masked(opcode: number, payload: string): Buffer {
  const mask = Buffer.from([1, 2, 3, 4])
  const bytes = Buffer.from(payload).map((byte, index) => byte ^ mask[index % 4]!)
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | bytes.length]), mask, bytes])
}

const eventOf = (type: string, name: string): unknown => [
  1,
  expect.objectContaining({
    type,
    object: expect.objectContaining({ kind: 'ConfigMap', metadata: expect.objectContaining({ name }) }),
  }),
]

async function create(name: string, data: Record<string, string> = {}): Promise<void> {
  const metadata = { name, namespace: 'default' }
  await server.client().create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as never)
}

test('a watch over WebSocket sends each event as one text message', async () => {
  await create('first')
  const opened = await open(`${configMaps}?watch=true`)
  const { statusCode, headers } = opened.response
  // The key and its answer are the example of RFC 6455.
  expect([statusCode, headers['upgrade'], headers['sec-websocket-accept']]).toEqual([
    101,
    'websocket',
    's3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
  ])
  const frames = framesOf(opened)
  expect(await next(frames)).toEqual(eventOf('ADDED', 'first'))
  await create('long', { a: 'x'.repeat(1_000) })
  expect(await next(frames)).toEqual(eventOf('ADDED', 'long'))
  await create('longer', { a: 'x'.repeat(100_000) })
  expect(await next(frames)).toEqual(eventOf('ADDED', 'longer'))
})

test.each([
  ['1', `${configMaps}?watch=1`],
  ['the deprecated path', '/api/v1/watch/namespaces/default/configmaps'],
  ['all namespaces', '/api/v1/configmaps?watch=true'],
])('a watch over WebSocket opens with %s', async (_name, path) => {
  await create('a')
  expect(await next(framesOf(await open(path)))).toEqual(eventOf('ADDED', 'a'))
})

test('a watch over WebSocket ends with a close frame when its timeout is over', async () => {
  const frames = framesOf(await open(`${configMaps}?watch=true&timeoutSeconds=1`))
  expect(await next(frames)).toEqual([8, 1000])
  expect(await frames.next()).toEqual({ done: true, value: undefined })
})

test('a watch over WebSocket answers a ping, drops messages, and ends when the client closes', async () => {
  const opened = await open(`${configMaps}?watch=true`)
  const frames = framesOf(opened)
  // One write, and byte by byte.
  opened.socket!.write(Buffer.concat([masked(9, 'one'), masked(1, 'ignored'), masked(9, 'two')]))
  for (const byte of masked(9, 'three')) opened.socket!.write(Buffer.of(byte))
  expect([await next(frames), await next(frames), await next(frames)]).toEqual([
    [10, 'one'],
    [10, 'two'],
    [10, 'three'],
  ])
  opened.socket!.write(masked(8, ''))
  expect(await next(frames)).toEqual([8, 1000])
  expect((await frames.next()).done).toBe(true)
})

test('a client that does not mask its frames breaks the protocol', async () => {
  const opened = await open(`${configMaps}?watch=true`)
  opened.socket!.write(Buffer.from([0x89, 0]))
  expect(await next(framesOf(opened))).toEqual([8, 1002])
})

test('a watch over WebSocket ends when the client half-closes the connection, and when the server stops', async () => {
  const ended = await open(`${configMaps}?watch=true`)
  ended.socket!.end()
  expect(await next(framesOf(ended))).toEqual([8, 1000])
  const stopped = framesOf(await open(`${configMaps}?watch=true`))
  const closed = next(stopped)
  await server[Symbol.asyncDispose]()
  expect(await closed).toEqual([8, 1000])
})

test('one sub-protocol is agreed to', async () => {
  const { response } = await open(`${configMaps}?watch=true`, { 'sec-websocket-protocol': 'v1' })
  expect([response.statusCode, response.headers['sec-websocket-protocol']]).toEqual([101, 'v1'])
})

test.each<[string, string, OutgoingHttpHeaders, number]>([
  ['without an origin', '', { origin: undefined }, 403],
  ['with an origin that is no URL', '', { origin: 'null' }, 403],
  ['of another site with the cookies of a user', '', { origin: 'https://evil.example', cookie: 'user=a' }, 403],
  ['without a key', '', { 'sec-websocket-key': undefined }, 400],
  ['in another version', '', { 'sec-websocket-version': '8' }, 400],
  ['with two sub-protocols', '', { 'sec-websocket-protocol': 'a, b' }, 400],
  ['with an unknown token', '', { authorization: 'Bearer wrong' }, 401],
  ['of a user who may not watch', '', { authorization: 'Bearer nobody' }, 403],
  ['from an invalid resourceVersion', '&resourceVersion=x', {}, 500],
])('a WebSocket %s is refused', async (_name, query, headers, expected) => {
  const { response } = await open(`${configMaps}?watch=true${query}`, headers)
  expect(response.statusCode).toBe(expected)
  response.resume()
  await once(response, 'end')
})

test.each([
  ['a list', configMaps, 'GET', {}, 200],
  ['another protocol', `${configMaps}?watch=true&timeoutSeconds=1`, 'GET', { upgrade: 'h2c' }, 200],
])('the upgrade of %s is ignored', async (_name, path, method, headers, expected) => {
  const { response } = await open(path, headers, method)
  expect(response.statusCode).toBe(expected)
  response.resume()
  await once(response, 'end')
})

test('a WebSocket to a resource that does not exist gets 404', async () => {
  expect((await open('/api/v1/namespaces/default/nothings?watch=true')).response.statusCode).toBe(404)
})
