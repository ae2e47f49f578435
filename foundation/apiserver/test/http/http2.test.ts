// HTTP/2 on the port of HTTP/1.1, with a real client: requests, bodies, watches, and the limits of a connection.
import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { ApiServer, listen, makeCertificates } from '@fairlead/apiserver'
import type { Certificates, Listener, ListenOptions, ServerRequest, ServerResponse } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import type { ConfigMap } from '@fairlead/client'
import { caCertificate, clientCertificate, clientKey } from '../../../../test/support/certificates.ts'
import { until } from '../../../../test/support/until.ts'

let certificates: Certificates
const sessions: ClientHttp2Session[] = []

beforeAll(async () => {
  certificates = await makeCertificates({ clock: systemClock })
})

afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})

function open(handle: ListenOptions['handle'], options: Partial<ListenOptions> = {}): Promise<Listener> {
  const tls = { ...certificates.server, clientCa: [certificates.ca.cert, caCertificate] }
  return listen({ tls, handle, clock: systemClock, ...options })
}

function session(
  { url }: { readonly url: string },
  ca: string = certificates.ca.cert,
  identity = {},
): ClientHttp2Session {
  const made = connect(url, { ca, ...identity })
  made.on('error', () => undefined)
  sessions.push(made)
  return made
}

interface Answer {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
  return { headers, body: Buffer.concat(chunks) }
}

function ask(from: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string | Buffer): Promise<Answer> {
  const stream = from.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  return answerOf(stream)
}

function json(value: object): ServerResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: { kind: 'json', value: value as never } }
}

test('passes method, path, query, headers, body and identity on, without a length and without pseudo-headers', async () => {
  let seen: ServerRequest | undefined
  let body: Uint8Array | undefined
  await using listener = await open(async (request) => {
    seen = request
    body = await request.incoming?.read()
    return json({})
  })
  const headers = {
    ':method': 'POST',
    ':path': '/api/v1/a%2Fb?x=1&x=2',
    'content-type': 'text/plain',
    'impersonate-user': 'bob',
    'impersonate-group': ['a, b', 'c'],
  }
  const identity = { cert: clientCertificate, key: clientKey }
  await ask(session(listener, certificates.ca.cert, identity), headers, 'hello')
  expect(seen).toMatchObject({
    method: 'POST',
    path: '/api/v1/a%2Fb',
    headers: { 'content-type': 'text/plain', 'impersonate-group': ['a, b', 'c'], host: listener.url.slice(8) },
    credentials: { certificate: { commonName: 'alice', organizations: ['devs'] } },
    remoteAddress: '127.0.0.1',
  })
  expect([[...seen!.query], Object.keys(seen!.headers).filter((name) => name.startsWith(':'))]).toEqual([
    [
      ['x', '1'],
      ['x', '2'],
    ],
    [],
  ])
  expect(Buffer.from(body!).toString()).toBe('hello')
})

test('one connection carries requests side by side, large and compressed bodies, and HEAD', async () => {
  const large = Buffer.alloc(3_000_000, 'text ')
  let waiting = 0
  await using listener = await open(async ({ path, method }) => {
    if (path === '/large') return { status: 200, headers: {}, body: { kind: 'bytes', bytes: large } }
    if (method === 'HEAD') return { status: 200, headers: {}, body: { kind: 'bytes', bytes: new Uint8Array() } }
    waiting++
    await until('all requests are under way', () => waiting >= 100)
    return json({ path })
  })
  const client = session(listener)
  const all = await Promise.all(Array.from({ length: 100 }, (_, index) => ask(client, { ':path': `/${index}` })))
  expect(all.map(({ body }) => body.toString())).toEqual(all.map((_, index) => `{"path":"/${index}"}\n`))
  expect((await ask(client, { ':path': '/large' })).body.equals(large)).toBe(true)
  const zipped = await ask(client, { ':path': '/large', 'accept-encoding': 'gzip' })
  expect(gunzipSync(zipped.body).equals(large)).toBe(true)
  const head = await ask(client, { ':path': '/', ':method': 'HEAD' })
  expect({ status: head.headers[':status'], length: head.body.length }).toEqual({ status: 200, length: 0 })
})

test('a body above the limit gets 413, and the connection goes on', async () => {
  await using listener = await open(async (request) => json({ length: (await request.incoming?.read())?.length ?? 0 }))
  const client = session(listener)
  const post = { ':method': 'POST', ':path': '/' }
  expect((await ask(client, post, Buffer.alloc(4_000_000))).headers[':status']).toBe(413)
  expect((await ask(client, post, Buffer.alloc(1_000_000))).body.toString()).toBe('{"length":1000000}\n')
})

test('a response that breaks off, and a body that does not arrive in time, end with an error', async () => {
  await using listener = await open(
    async (request) => {
      if (request.method === 'POST') return json({ read: await request.incoming?.read() } as object)
      const chunks = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.from('half')
        throw new Error('the source broke')
      }
      return { status: 200, headers: {}, body: { kind: 'stream', chunks: chunks() } }
    },
    { arrival: { headers: 50, request: 50 } },
  )
  const client = session(listener)
  await expect(ask(client, { ':path': '/' })).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
  const slow = client.request({ ':method': 'POST', ':path': '/' })
  slow.write('never ends')
  await expect(once(slow, 'response')).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
})

test('a client that resets its streams aborts their requests, and loses its connection when it goes on', async () => {
  let begun = 0
  let aborted = 0
  await using listener = await open(
    ({ signal, path }) =>
      new Promise((resolve) => {
        if (path === '/quick') return resolve(json({}))
        begun++
        signal.addEventListener('abort', () => {
          aborted++
          resolve(json({}))
        })
      }),
  )
  const other = session(listener)
  const attacker = session(listener)
  const isClosed = (): boolean => attacker.closed || attacker.destroyed
  // A connection may reset 1000 streams at once, and 33 a second.
  for (let round = 0; round < 100 && !isClosed(); round++) {
    const before = begun
    const streams = Array.from({ length: 50 }, () => attacker.request({ ':path': '/slow' }))
    for (const stream of streams) stream.on('error', () => undefined)
    await until('the requests have begun', () => begun === before + streams.length || isClosed())
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
  }
  await until('the connection is closed', isClosed)
  expect(begun).toBeLessThan(5000)
  await until('every request was aborted', () => begun > 0 && aborted === begun)
  expect((await ask(other, { ':path': '/quick' })).headers[':status']).toBe(200)
})

test('watches over one connection get events; a reset ends one, closing the server ends all', async () => {
  const root = { token: 'secret', user: { name: 'root', groups: ['system:masters'] } }
  const server = await ApiServer.start({ tokens: [root] })
  const { url, certificateAuthority } = await server.listen()
  const client = session({ url }, certificateAuthority)
  const path = '/api/v1/namespaces/default/configmaps?watch=true'
  const watches = Array.from({ length: 20 }, () => {
    const stream = client.request({ ':path': path, authorization: 'Bearer secret' })
    const watch = { stream, text: '', closed: false }
    stream.on('data', (chunk: Buffer) => (watch.text += chunk.toString()))
    stream.on('error', () => undefined)
    stream.on('close', () => (watch.closed = true))
    return watch
  })
  await Promise.all(watches.map(({ stream }) => once(stream, 'response')))
  watches[0]!.stream.close(constants.NGHTTP2_CANCEL)
  const admin = server.client()
  for (const name of ['a', 'b'])
    await admin.create<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
  await until('all other watches got both', () =>
    watches.slice(1).every(({ text }) => text.split('"ADDED"').length === 3),
  )
  await server[Symbol.asyncDispose]()
  await until('every watch is closed', () => watches.every(({ closed }) => closed))
})

test('http2: false offers HTTP/1.1 only', async () => {
  await using listener = await open(async () => json({}), { http2: false })
  const refused = connect(listener.url, { ca: certificates.ca.cert })
  sessions.push(refused)
  await expect(once(refused, 'connect')).rejects.toThrow()
})
