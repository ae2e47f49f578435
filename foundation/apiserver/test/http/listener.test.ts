// The HTTPS listener, with real sockets.
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../../../test/support/until.ts'
import { systemClock } from '@fairlead/client'
import { FakeClock } from '@fairlead/kube'
import { adminCertificate, listen, ListenError, makeCertificates, readCredentials } from '@fairlead/apiserver'
import type { Certificates, KeyPair, Listener, ListenOptions, ServerRequest, ServerResponse } from '@fairlead/apiserver'

interface WithAdmin extends Certificates {
  readonly admin: KeyPair
}

let certificates: WithAdmin
let foreign: WithAdmin
const agents: Agent[] = []

beforeAll(async () => {
  const make = async (): Promise<WithAdmin> => {
    const made = await makeCertificates({ clock: systemClock })
    return { ...made, admin: await adminCertificate(made.ca, { clock: systemClock }) }
  }
  ;[certificates, foreign] = await Promise.all([make(), make()])
})

afterAll(() => {
  for (const agent of agents) agent.destroy()
})

function json(value: object, status = 200): ServerResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: { kind: 'json', value: value as never } }
}

function open(handle: ListenOptions['handle'], options: Partial<ListenOptions> = {}): Promise<Listener> {
  const { ca, server } = certificates
  const withBody: ListenOptions['handle'] = async (request) => {
    const body = await request.incoming?.read()
    return handle(body === undefined ? request : { ...request, body })
  }
  return listen({ tls: { ...server, clientCa: ca.cert }, handle: withBody, clock: systemClock, ...options })
}

function agent(options: { ca?: string; cert?: string; key?: string; keepAlive?: boolean } = {}): Agent {
  const made = new Agent({ ca: certificates.ca.cert, ...options })
  agents.push(made)
  return made
}

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer
  readonly agent?: Agent
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

async function ask(
  listener: Listener,
  { method = 'GET', path = '/', headers = {}, body, agent: through = agent() }: Asked = {},
): Promise<Answer> {
  const request = httpsRequest({ host: listener.host, port: listener.port, method, path, headers, agent: through })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  return { status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }
}

function raw(listener: Listener): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: listener.host, port: listener.port, ca: certificates.ca.cert }, () =>
      resolve(socket),
    )
    socket.on('error', reject)
  })
}

async function readAll(socket: TLSSocket): Promise<string> {
  let text = ''
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString()
  return text
}

test('passes method, path, query, headers and body on unchanged', async () => {
  let seen: ServerRequest | undefined
  await using listener = await open(async (request) => {
    seen = request
    return json({})
  })
  await ask(listener, {
    method: 'POST',
    path: '/api/v1/a%2Fb?x=1&x=2&y=%20',
    headers: {
      'Content-Type': 'text/plain',
      'Impersonate-Group': ['a, b', 'c'],
      'Impersonate-User': 'bob',
      authorization: 'Bearer t',
    },
    body: 'hello',
  })
  expect(seen).toMatchObject({
    method: 'POST',
    path: '/api/v1/a%2Fb',
    headers: { 'content-type': 'text/plain', 'impersonate-group': ['a, b', 'c'], 'impersonate-user': ['bob'] },
    credentials: { authorization: 'Bearer t', certificate: undefined },
  })
  expect([...seen!.query]).toEqual([
    ['x', '1'],
    ['x', '2'],
    ['y', ' '],
  ])
  expect(Buffer.from(seen!.body as Uint8Array).toString()).toBe('hello')
})

test('a request without a body has none', async () => {
  await using listener = await open(async (request) => json({ body: request.body === undefined }))
  expect(JSON.parse((await ask(listener)).body.toString())).toEqual({ body: true })
  expect(
    JSON.parse((await ask(listener, { method: 'POST', headers: { 'Transfer-Encoding': 'chunked' } })).body.toString()),
  ).toEqual({ body: true })
})

const fingerprintOf = (cert: string): string =>
  new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase()

test('identifies a client certificate, also on a resumed session, and distinguishes an untrusted one from none', async () => {
  await using listener = await open(async ({ credentials: { certificate, untrusted } }) =>
    json({ certificate, untrusted }),
  )
  const owner = {
    certificate: {
      commonName: 'kubernetes-admin',
      organizations: ['system:masters'],
      fingerprint: fingerprintOf(certificates.admin.cert),
      authorities: [fingerprintOf(certificates.ca.cert)],
    },
  }
  const ours = agent({ ...certificates.admin, keepAlive: false })
  for (let round = 0; round < 3; round++)
    expect(JSON.parse((await ask(listener, { agent: ours })).body.toString())).toEqual(owner)
  expect(JSON.parse((await ask(listener, { agent: agent(foreign.admin) })).body.toString())).toEqual({
    untrusted: true,
  })
  expect(JSON.parse((await ask(listener)).body.toString())).toEqual({})
})

test('uses renewed certificates from the next connection on', async () => {
  await using listener = await open(async ({ credentials: { certificate, untrusted } }) =>
    json({ name: certificate?.commonName, untrusted }),
  )
  const shownBy = async (from: WithAdmin, to: Certificates): Promise<unknown> => {
    const asking = agent({ ...from.admin, ca: to.ca.cert, keepAlive: false })
    return JSON.parse((await ask(listener, { agent: asking })).body.toString())
  }
  const known = { name: 'kubernetes-admin' }
  const unknown = { untrusted: true }
  expect([await shownBy(certificates, certificates), await shownBy(foreign, certificates)]).toEqual([known, unknown])
  listener.renew({ ...foreign.server, clientCa: [foreign.ca.cert] })
  expect([await shownBy(certificates, foreign), await shownBy(foreign, foreign)]).toEqual([unknown, known])
  // No authority is trusted, those of the system included.
  listener.renew({ ...foreign.server, clientCa: [] })
  expect(await shownBy(foreign, foreign)).toEqual(unknown)
})

test('accepts bodies up to 3 MiB', async () => {
  await using listener = await open(async ({ body }) => json({ length: (body as Uint8Array).length }))
  const limit = 3 * 1024 * 1024
  expect(JSON.parse((await ask(listener, { method: 'POST', body: Buffer.alloc(limit, 'x') })).body.toString())).toEqual(
    {
      length: limit,
    },
  )
})

test.each([
  ['announced', { 'Content-Length': 3_200_000 }],
  ['sent in pieces', { 'Transfer-Encoding': 'chunked' }],
  ['announced, with a question first', { 'Content-Length': 3_200_000, Expect: '100-continue' }],
])('refuses a larger body, %s', async (_, headers) => {
  let asked = 0
  await using listener = await open(async () => json({ asked: asked++ }))
  const request = httpsRequest({
    host: listener.host,
    port: listener.port,
    method: 'POST',
    headers,
    agent: agent({ keepAlive: true }),
  })
  const arrived = once(request, 'response') as Promise<[IncomingMessage]>
  if (!('Expect' in headers)) for (let sent = 0; sent < 32; sent++) request.write(Buffer.alloc(100_000, 'x'))
  if (!('Expect' in headers)) request.end()
  const [response] = await arrived
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  expect([response.statusCode, response.headers.connection, asked]).toEqual([
    413,
    'Expect' in headers ? 'close' : 'keep-alive',
    0,
  ])
  expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Request entity too large: limit is 3145728',
    reason: 'RequestEntityTooLarge',
    code: 413,
  })
  request.on('error', () => undefined).destroy()
})

test('sends 100 Continue to a client that expects it', async () => {
  await using listener = await open(async ({ body }) => json({ length: (body as Uint8Array).length }))
  const request = httpsRequest({
    host: listener.host,
    port: listener.port,
    method: 'POST',
    headers: { 'Content-Length': 5, Expect: '100-continue' },
    agent: agent(),
  })
  request.flushHeaders()
  await once(request, 'continue')
  request.end('hello')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(200)
  response.resume()
})

test('does not ask for the body of a request that is refused without it', async () => {
  const { ca, server } = certificates
  await using listener = await listen({
    tls: { ...server, clientCa: ca.cert },
    handle: async () => json({}, 401),
    clock: systemClock,
  })
  const headers = { 'Content-Length': 5, Expect: '100-continue' }
  const to = { host: listener.host, port: listener.port, method: 'POST', headers, agent: agent() }
  const request = httpsRequest(to)
  let continued = 0
  request.on('continue', () => void continued++)
  request.flushHeaders()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  expect([response.statusCode, response.headers.connection, continued]).toEqual([401, 'close', 0])
  request.on('error', () => undefined).destroy()
})

test('a client that is refused before its body was read can send it to the end, and go on', async () => {
  const { ca, server } = certificates
  await using listener = await listen({
    tls: { ...server, clientCa: ca.cert },
    handle: async ({ path }) => json({ path }, 401),
    clock: systemClock,
  })
  const through = agent({ keepAlive: true })
  for (const path of ['/a', '/b']) {
    const { status, body } = await ask(listener, {
      method: 'POST',
      path,
      body: Buffer.alloc(2_000_000),
      agent: through,
    })
    expect([status, JSON.parse(body.toString())]).toEqual([401, { path }])
  }
})

test('handles the pipelined requests of a connection one after the other, each when the last response was read', async () => {
  let handled = 0
  const long = Buffer.alloc(30_000_000, 'x')
  await using listener = await open(async () => {
    handled++
    return { status: 200, headers: {}, body: { kind: 'bytes', bytes: long } }
  })
  const socket = await raw(listener)
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100))
  await eventually(() => expect(handled).toBe(1))
  // Requests on other connections are handled meanwhile, so the server has had time for more of the first.
  for (let round = 0; round < 3; round++) await ask(listener)
  expect(handled).toBe(4)
  let read = 0
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    read += chunk.length
    if (read > 3.5 * long.length) break
  }
  // Three responses have been read whole, and the fourth in part.
  expect(handled).toBeLessThanOrEqual(3 + 5)
})

test('does not handle pipelined requests of a connection that was closed', async () => {
  let handled = 0
  const first = Promise.withResolvers<void>()
  let signal: AbortSignal | undefined
  await using listener = await open(async (request) => {
    handled++
    signal ??= request.signal
    if (handled === 1) await first.promise
    return json({})
  })
  const socket = await raw(listener)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100))
  await eventually(() => expect(handled).toBe(1))
  socket.destroy()
  await eventually(() => expect(signal?.aborted).toBe(true))
  first.resolve()
  for (let round = 0; round < 3; round++) await ask(listener)
  expect(handled).toBe(4)
})

test('closes a connection with more than 100 requests that wait', async () => {
  let handled = 0
  await using listener = await open(({ signal }) => {
    handled++
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('left'))))
  })
  const socket = await raw(listener)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(150))
  expect(await readAll(socket).catch(() => '')).toBe('')
  expect(handled).toBe(1)
})

test('responds to pipelined requests with bodies in their order', async () => {
  await using listener = await open(async ({ body }) => json({ length: (body as Uint8Array).length }))
  const socket = await raw(listener)
  const bodies = ['a', 'b'.repeat(200_000), 'c', 'd'.repeat(300_000)]
  for (const body of bodies) socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nend')
  const text = await readAll(socket)
  const lengths = [...text.matchAll(/"length":(\d+)/g)].map(([, length]) => Number(length))
  expect(lengths).toEqual([...bodies, 'end'].map(({ length }) => length))
})

test('sends a compressed response as it is read, and ends the compression of one whose client leaves', async () => {
  // Noise does not get smaller.
  const { randomFillSync } = await import('node:crypto')
  const chunks = Array.from({ length: 40 }, () => randomFillSync(Buffer.alloc(500_000)))
  let pulled = 0
  const counted = chunks.map((chunk) => chunk)
  const list = new Proxy(counted, {
    get(target, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) pulled++
      return Reflect.get(target, name) as unknown
    },
  })
  await using listener = await open(async () => {
    return { status: 200, headers: {}, body: { kind: 'bytes', bytes: new Uint8Array(), chunks: list } }
  })
  const socket = await raw(listener)
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n')
  await eventually(() => expect(pulled).toBeGreaterThan(chunks.length))
  // A length is counted for each chunk first; then the buffers of the connection are filled.
  for (let round = 0; round < 2; round++) await ask(listener, { path: '/', headers: { 'Accept-Encoding': 'gzip' } })
  const before = pulled - 2 * 2 * chunks.length
  expect(before).toBeLessThan(2 * chunks.length)
  socket.destroy()
})

test('closes connections beyond its limit', async () => {
  await using listener = await open(async () => json({}), { maxConnections: 2 })
  const first = await raw(listener)
  const second = await raw(listener)
  await expect(raw(listener)).rejects.toThrow()
  first.destroy()
  second.destroy()
  await eventually(async () => expect((await ask(listener)).status).toBe(200))
})

test('closes connections of one address beyond its share', async () => {
  await using listener = await open(async () => json({}), { maxConnectionsPerAddress: 1 })
  const first = await raw(listener)
  await expect(raw(listener)).rejects.toThrow()
  first.destroy()
  await eventually(async () => expect((await ask(listener)).status).toBe(200))
})

test.each([
  ['an unknown method', 'FOO /api HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'MethodNotAllowed'],
  ['what is no HTTP', 'GET / SMTP/1.1\r\n\r\n', 400, 'BadRequest'],
  ['headers above 1 MiB', `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(1_100_000)}\r\n\r\n`, 431, undefined],
])('answers %s with a Status and goes on', async (_, text, code, reason) => {
  await using listener = await open(async () => json({ ok: true }))
  const socket = await raw(listener)
  socket.on('error', () => undefined)
  socket.write(text)
  const [head, body] = (await readAll(socket)).split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${code} `))
  expect(JSON.parse(body!)).toMatchObject({
    kind: 'Status',
    status: 'Failure',
    code,
    ...(reason !== undefined && { reason }),
  })
  expect((await ask(listener)).status).toBe(200)
})

test('accepts headers of almost 1 MiB', async () => {
  await using listener = await open(async ({ headers }) => json({ length: String(headers['x-long']).length }))
  expect(JSON.parse((await ask(listener, { headers: { 'X-Long': 'x'.repeat(1_000_000) } })).body.toString())).toEqual({
    length: 1_000_000,
  })
})

test('responds with 500 to an error of the handler', async () => {
  await using listener = await open(() => Promise.reject(new Error('boom')))
  const { status, body } = await ask(listener)
  expect([status, JSON.parse(body.toString())]).toMatchObject([
    500,
    { kind: 'Status', reason: 'InternalError', message: 'Internal error occurred: boom' },
  ])
})

test('compresses large responses only for clients that accept gzip', async () => {
  const value = { text: 'x'.repeat(200_000) }
  await using listener = await open(async ({ path }) =>
    path === '/large' ? json(value) : json({ text: 'x'.repeat(1000) }),
  )
  const packed = await ask(listener, { path: '/large', headers: { 'Accept-Encoding': 'deflate, gzip;q=0.8' } })
  expect([packed.headers['content-encoding'], packed.headers.vary, packed.body.length < 20_000]).toEqual([
    'gzip',
    'Accept-Encoding',
    true,
  ])
  expect(JSON.parse(gunzipSync(packed.body).toString())).toEqual(value)
  const plain = await ask(listener, { path: '/large', headers: { 'Accept-Encoding': 'gzip;q=0' } })
  expect([plain.headers['content-encoding'], JSON.parse(plain.body.toString())]).toEqual([undefined, value])
  expect(
    (await ask(listener, { path: '/small', headers: { 'Accept-Encoding': 'gzip' } })).headers['content-encoding'],
  ).toBeUndefined()
})

test('writes several values of a header as several headers, and existing bytes as they are', async () => {
  const bytes = Buffer.from('{"made":"before"}')
  await using listener = await open(async () => ({
    status: 200,
    headers: { warning: ['299 - "a"', '299 - "b"'] },
    body: { kind: 'json', value: {}, bytes },
  }))
  const { headers, body } = await ask(listener)
  expect([headers.warning, body.toString(), headers['content-length']]).toEqual([
    '299 - "a", 299 - "b"',
    '{"made":"before"}\n',
    '18',
  ])
})

test('writes any characters with the right Content-Length, and warnings in the encoding of headers', async () => {
  const text = 'é ü 漢 \u{1f600} \ud800'
  await using listener = await open(async ({ path }) => {
    const answer = json({ text: path === '/long' ? text.repeat(3000) : text })
    return path === '/warned' ? { ...answer, headers: { ...answer.headers, warning: ['299 - "é"'] } } : answer
  })
  const through = agent({ keepAlive: true })
  for (const path of ['/plain', '/warned', '/long', '/plain']) {
    const { body, headers } = await ask(listener, { path, agent: through })
    const shown = (path === '/long' ? text.repeat(3000) : text).toWellFormed()
    // JSON.stringify escapes a lone surrogate.
    expect((JSON.parse(body.toString()) as { text: string }).text.toWellFormed()).toBe(shown)
    expect([headers['content-length'], headers.warning]).toEqual([
      String(body.length),
      path === '/warned' ? '299 - "é"' : undefined,
    ])
  }
})

test('sends long responses whole, whatever their chunks and their concurrency', async () => {
  const sizes = [1, 100, 65_537, 262_143, 262_144, 262_145, 700_000, 0, 3]
  const bodies = Array.from({ length: 6 }, (_, body) =>
    sizes.map((size, piece) => Buffer.alloc(size, `${body}.${piece} `)).slice(body === 5 ? -2 : 0, 9 - body),
  )
  await using listener = await open(async ({ path }) => {
    const pieces = bodies[Number(path.slice(1))]!
    return { status: 200, headers: {}, body: { kind: 'bytes', bytes: Buffer.concat(pieces), chunks: pieces } }
  })
  const asked = Array.from({ length: 24 }, (_, index) => index % bodies.length)
  const gzip = { 'Accept-Encoding': 'gzip' }
  const answers = await Promise.all(
    asked.map((body, index) => ask(listener, { path: `/${body}`, headers: index % 4 === 3 ? gzip : {} })),
  )
  for (const [index, { headers, body }] of answers.entries()) {
    const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
    expect(bytes.equals(Buffer.concat(bodies[asked[index]!]!))).toBe(true)
  }
})

test('responds to HEAD without a body', async () => {
  await using listener = await open(async () => json({ a: 1 }))
  const { status, body } = await ask(listener, { method: 'HEAD' })
  expect([status, body.length]).toEqual([200, 0])
})

/** A watch that the test feeds. */
function channel(initial = false): {
  push(text: string): void
  end(): void
  response(signal: AbortSignal): ServerResponse
  readonly waiting: readonly string[]
} {
  const waiting: string[] = []
  let ended = false
  let wake: (() => void) | undefined
  const notify = (): void => wake?.()
  return {
    waiting,
    push: (text) => {
      waiting.push(text)
      notify()
    },
    end: () => {
      ended = true
      notify()
    },
    response: (signal) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: {
        kind: 'watch',
        events: (async function* () {
          signal.addEventListener('abort', notify)
          while (!signal.aborted) {
            const text = waiting.shift()
            if (text !== undefined)
              yield [
                {
                  type: 'ADDED' as const,
                  initial,
                  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: text } },
                },
              ]
            else if (ended) return
            else
              await new Promise<void>((resolve) => {
                wake = resolve
              })
          }
        })(),
        encode: ({ object }) => Buffer.from(`${object.metadata.name}\n`),
      },
    }),
  }
}

function startWatch(listener: Listener): Promise<IncomingMessage> {
  const request = httpsRequest({ host: listener.host, port: listener.port, path: '/watch', agent: agent() })
  request.end()
  return once(request, 'response').then(([response]) => response as IncomingMessage)
}

test('opens a watch at once, streams its events, and ends it', async () => {
  const feed = channel()
  await using listener = await open(async ({ signal }) => feed.response(signal))
  const response = await startWatch(listener)
  feed.push('one')
  expect(String((await once(response, 'data'))[0])).toBe('one\n')
  feed.push('two')
  feed.end()
  let rest = ''
  for await (const chunk of response as AsyncIterable<Buffer>) rest += chunk.toString()
  expect(rest).toBe('two\n')
})

test('frames the chunks of a watch for its client and connection', async () => {
  const slow = Promise.withResolvers<ServerResponse>()
  const watched = [channel(), channel(), channel()]
  await using listener = await open(async ({ path, signal }) =>
    path === '/slow' ? slow.promise : watched[Number(path.slice(1))]!.response(signal),
  )
  const chunked = await raw(listener)
  chunked.write('GET /0 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await once(chunked, 'data')
  const plain = await raw(listener)
  plain.write('GET /1 HTTP/1.0\r\n\r\n')
  await once(plain, 'data')
  const behind = await raw(listener)
  behind.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const texts = [chunked, plain, behind].map(readAll)
  slow.resolve(json({ slow: true }))
  for (const { push } of watched) for (const text of ['one', 'two']) push(text)
  await eventually(() => expect(watched.flatMap(({ waiting }) => waiting)).toEqual([]))
  for (const { push, end } of watched) {
    push('three')
    end()
  }
  await eventually(() => expect(watched.flatMap(({ waiting }) => waiting)).toEqual([]))
  const [first, second, third] = (await Promise.all(texts)) as [string, string, string]
  expect(first).toBe('8\r\none\ntwo\n\r\n6\r\nthree\n\r\n0\r\n\r\n')
  expect(second).toBe('one\ntwo\nthree\n')
  expect(third).toMatch(/^HTTP[^]*\{"slow":true\}\nHTTP[^]*\r\n\r\n8\r\none\ntwo\n\r\n6\r\nthree\n\r\n0\r\n\r\n$/)
})

test('aborts the signal of a request when its client disconnects', async () => {
  const feed = channel()
  let signal: AbortSignal | undefined
  await using listener = await open(async (request) => {
    signal = request.signal
    return feed.response(request.signal)
  })
  const response = await startWatch(listener)
  expect(signal!.aborted).toBe(false)
  const aborted = once(signal!, 'abort')
  response.destroy()
  await aborted
  expect(signal!.aborted).toBe(true)
})

test('calls back after the response also when its client has left before the handler asks for it', async () => {
  const begun = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  await using listener = await open(async ({ signal, onSent }) => {
    begun.resolve()
    await once(signal, 'abort')
    onSent!(() => left.resolve())
    return json({})
  })
  const request = httpsRequest({ host: listener.host, port: listener.port, agent: agent() })
  request.on('error', () => undefined)
  request.end()
  await begun.promise
  request.destroy()
  await left.promise
})

test('closes a watcher with more than 8 MiB unsent', async () => {
  const feed = channel()
  await using listener = await open(async ({ signal }) => feed.response(signal))
  const response = await startWatch(listener)
  response.pause()
  const closed = once(response, 'error')
  const large = 'x'.repeat(1_000_000)
  for (let sent = 0; sent < 40; sent++) feed.push(large)
  response.resume()
  let received = 0
  response.on('data', (chunk: Buffer) => (received += chunk.length))
  // A client that reads fast enough is never closed; this one was, before it began to read.
  const [error] = await Promise.race([closed, once(response, 'end').then(() => [undefined])])
  expect(error === undefined ? received : (error as NodeJS.ErrnoException).code).toBe('ECONNRESET')
})

test('sends the initial state of a watch as fast as its client reads', async () => {
  const clock = new FakeClock()
  const feed = channel(true)
  await using listener = await open(async ({ signal }) => feed.response(signal), { clock })
  const response = await startWatch(listener)
  response.pause()
  for (let sent = 0; sent < 60; sent++) feed.push('x'.repeat(1_000_000))
  // The listener holds a piece back and makes no more while it does.
  while (clock.untilNext() === undefined) await new Promise((resolve) => setImmediate(resolve))
  expect(feed.waiting.length).toBeGreaterThan(10)
  await clock.advance(59_000)
  feed.end()
  let received = 0
  for await (const chunk of response as AsyncIterable<Buffer>) received += chunk.length
  expect(received).toBe(60 * 1_000_001)
})

test('closes a watcher that reads nothing of the initial state for a minute', async () => {
  const clock = new FakeClock()
  const feed = channel(true)
  let signal: AbortSignal | undefined
  await using listener = await open(
    async (request) => {
      signal = request.signal
      return feed.response(request.signal)
    },
    { clock },
  )
  const response = await startWatch(listener)
  response.pause()
  response.on('error', () => undefined)
  for (let sent = 0; sent < 60; sent++) feed.push('x'.repeat(1_000_000))
  // Kernels take some of it first, which counts as reading.
  while (signal?.aborted !== true) {
    await clock.advance(60_001)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(feed.waiting.length).toBeGreaterThan(10)
})

test('closes a watcher that reads nothing for a minute', async () => {
  const clock = new FakeClock()
  const feed = channel()
  let signal: AbortSignal | undefined
  await using listener = await open(
    async (request) => {
      signal = request.signal
      return feed.response(request.signal)
    },
    { clock },
  )
  const socket = await raw(listener)
  socket.on('error', () => undefined)
  socket.write('GET /watch HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'data')
  socket.pause()
  // More than kernels take for a client that does not read, and less than the limit.
  for (let sent = 0; sent < 7; sent++) feed.push('x'.repeat(1_000_000))
  while (clock.untilNext() === undefined) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(59_000)
  expect(signal!.aborted).toBe(false)
  const aborted = once(signal!, 'abort')
  await clock.advance(1_001)
  await aborted
  socket.destroy()
})

test('closes with open watches, idle and half-open connections', async () => {
  const feed = channel()
  const clock = new FakeClock()
  const listener = await open(async ({ path, signal }) => (path === '/watch' ? feed.response(signal) : json({})), {
    clock,
  })
  const response = await startWatch(listener)
  await ask(listener, { agent: agent({ keepAlive: true }) })
  const silent = await raw(listener)
  const silentClosed = new Promise((resolve) =>
    silent
      .on('error', () => undefined)
      .resume()
      .on('close', resolve),
  )
  const ended = once(response, 'end')
  response.resume()
  const closing = listener[Symbol.asyncDispose]()
  await ended
  await clock.advance(5_001)
  await Promise.all([closing, silentClosed])
})

test('closing does not wait for the connection of an aborted watch', async () => {
  const feed = channel()
  // The clock does not move: closing after a time limit would never come.
  const listener = await open(async ({ signal }) => feed.response(signal), { clock: new FakeClock() })
  const sent = httpsRequest({
    host: listener.host,
    port: listener.port,
    path: '/watch',
    agent: agent({ keepAlive: true }),
  })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await listener[Symbol.asyncDispose]()
})

test('fails with one line when the port is in use', async () => {
  await using listener = await open(async () => json({}))
  const { port } = listener
  await expect(open(async () => json({}), { port })).rejects.toThrow(ListenError)
  await expect(open(async () => json({}), { port })).rejects.toThrow(
    `Cannot listen on 127.0.0.1 port ${port}: another process listens there.`,
  )
})

test.each([
  ['headers', 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '],
  ['a body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'],
])('does not wait for ever for %s', async (_, text) => {
  let asked = 0
  await using listener = await open(async () => json({ asked: asked++ }), { arrival: { headers: 50, request: 60 } })
  const socket = await raw(listener)
  socket.on('error', () => undefined)
  socket.write(text)
  const answer = await readAll(socket)
  expect([answer.slice(0, 28), asked]).toEqual(['HTTP/1.1 408 Request Timeout', 0])
})

test('passes upgraded connections with their credentials to the upgrade handler', async () => {
  await using listener = await open(async () => json({}), {
    upgrade: (request, socket) => {
      const { certificate, authorization } = readCredentials(request)
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n${certificate?.commonName} ${authorization}`,
      )
    },
  })
  const headers = { Connection: 'Upgrade', Upgrade: 'x', Authorization: 'Bearer t' }
  const request = httpsRequest({ host: listener.host, port: listener.port, headers, agent: agent(certificates.admin) })
  request.end()
  const [, socket, head] = (await once(request, 'upgrade')) as [IncomingMessage, TLSSocket, Buffer]
  expect(head.toString() + (await readAll(socket))).toBe('kubernetes-admin Bearer t')
})

test('survives malformed requests', async () => {
  await using listener = await open(async ({ path }) => json({ path }))
  const line = fc.constantFrom(
    'GET / HTTP/1.1\r\n',
    'POST /x?%zz HTTP/1.1\r\n',
    'Host: x\r\n',
    'Content-Length: -1\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: 5\r\n',
    'Upgrade: x\r\nConnection: Upgrade\r\n',
    'Expect: 100-continue\r\n',
    'ffffffffffffffff\r\n',
    '\r\n',
    '\0',
  )
  const piece = fc.oneof(
    line,
    fc.string({ maxLength: 20 }),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 12 }), async (pieces) => {
      const socket = await raw(listener)
      const closed = new Promise((resolve) =>
        socket
          .on('error', () => undefined)
          .resume()
          .on('close', resolve),
      )
      socket.end(Buffer.from(pieces.join(''), 'latin1'))
      await closed
      const { status, body } = await ask(listener, { path: '/still' })
      expect([status, JSON.parse(body.toString())]).toEqual([200, { path: '/still' }])
    }),
    { numRuns: 60 },
  )
})
