import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { connect as connectSocket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import type { TLSSocket } from 'node:tls'
import { FakeClock } from '@fairlead/kube'
import { Client, HttpsTransport, Namespace } from '@fairlead/client'
import type { ClientError, Connection } from '@fairlead/client'
import { afterEach, describe, expect, test } from 'vitest'
import {
  caCertificate,
  clientCertificate,
  clientKey,
  serverCertificate,
  serverKey,
} from '../../../test/support/certificates.ts'

type Handler = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function serve(handler: Handler, options: { plain?: boolean } = {}): Promise<number> {
  const listener = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    handler(request, response, body)
  }
  const server = options.plain
    ? http.createServer((request, response) => void listener(request, response))
    : https.createServer(
        { key: serverKey, cert: serverCertificate, ca: caCertificate, requestCert: true, rejectUnauthorized: false },
        (request, response) => void listener(request, response),
      )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function transport(port: number, connection: Partial<Connection> = {}): HttpsTransport {
  const made = new HttpsTransport(
    { server: `https://127.0.0.1:${port}`, ca: caCertificate, ...connection },
    { clock: new FakeClock() },
  )
  closing.push(() => made[Symbol.asyncDispose]())
  return made
}

function json(
  response: http.ServerResponse,
  body: unknown,
  status = 200,
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

describe('the HTTPS transport', () => {
  test('sends method, path, query, body and identity, and returns the response frozen and exact', async () => {
    const seen: unknown[] = []
    const port = await serve((request, response, body) => {
      const { host: _host, connection: _connection, ...headers } = request.headers
      seen.push([request.method, request.url, headers, request.headersDistinct['impersonate-group'], body])
      response.setHeader('warning', ['299 - "old \\"kind\\""', '299 - "unknown field"'])
      response.writeHead(201, { 'content-type': 'application/json' })
      response.end('{"a":{"big":9007199254740993,"id":"1234567890123456"}}')
    })
    const client = transport(port, { token: 'abc' }).as({
      user: 'jane',
      groups: ['devs', 'ops'],
      extra: { 'example.com/x': ['y'] },
    })
    const answer = await client.request({
      method: 'PATCH',
      path: '/api/v1/x',
      query: { force: true, nothing: undefined },
      contentType: 'application/apply-patch+yaml',
      body: { n: 1n },
    })
    expect(seen).toEqual([
      [
        'PATCH',
        '/api/v1/x?force=true',
        {
          accept: 'application/json',
          authorization: 'Bearer abc',
          'content-length': '7',
          'content-type': 'application/apply-patch+yaml',
          'impersonate-extra-example.com%2fx': 'y',
          'impersonate-group': 'devs, ops',
          'impersonate-user': 'jane',
          'user-agent': 'fairlead',
        },
        ['devs', 'ops'],
        '{"n":1}',
      ],
    ])
    expect([answer.status, answer.body, answer.warnings]).toEqual([
      201,
      { a: { big: 9007199254740993n, id: '1234567890123456' } },
      ['old "kind"', 'unknown field'],
    ])
    expect(Object.isFrozen((answer.body as { a: object }).a)).toBe(true)
  })

  test('authenticates with a client certificate', async () => {
    const port = await serve((request, response) => {
      const socket = request.socket as TLSSocket
      json(response, { authorized: socket.authorized, subject: { ...socket.getPeerCertificate().subject } })
    })
    const answer = await transport(port, { certificate: clientCertificate, key: clientKey }).request({
      method: 'GET',
      path: '/',
    })
    expect(answer.body).toEqual({ authorized: true, subject: { O: 'devs', CN: 'alice' } })
  })

  test.each<[string, Partial<Connection>, string | RegExp]>([
    ['a CA that did not sign', { ca: undefined }, /certificate/],
    ['no check at all', { ca: undefined, insecure: true }, 'fine'],
    ['the serving certificate itself', { ca: serverCertificate }, 'fine'],
    ['the certificate of another server', { ca: clientCertificate }, /certificate/],
    ['a server name of its own', { tlsServerName: 'server.test' }, 'fine'],
    ['a wrong server name', { tlsServerName: 'other.test' }, /other\.test/],
  ])('trusts by %s', async (_name, connection, expected) => {
    const port = await serve((_request, response) => json(response, 'fine'))
    const outcome = await transport(port, connection)
      .request({ method: 'GET', path: '/' })
      .then(
        (answer) => answer.body,
        (error: ClientError) => `${error.code}: ${error.message}`,
      )
    if (typeof expected === 'string') expect(outcome).toBe(expected)
    else expect(outcome).toMatch(expected)
  })

  test('reads a rotating token file again after a minute, and keeps the old token while the file is missing', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'fairlead-token-'))
    closing.push(() => rm(folder, { recursive: true }))
    const tokenFile = path.join(folder, 'token')
    const port = await serve((request, response) => json(response, request.headers.authorization))
    const clock = new FakeClock()
    const sender = new HttpsTransport({ server: `https://127.0.0.1:${port}`, ca: caCertificate, tokenFile }, { clock })
    closing.push(() => sender[Symbol.asyncDispose]())
    const read = async (): Promise<unknown> => (await sender.request({ method: 'GET', path: '/' })).body
    await expect(read()).rejects.toMatchObject({ code: 'InvalidKubeconfig' })
    await writeFile(tokenFile, 'one\n')
    expect(await read()).toBe('Bearer one')
    await writeFile(tokenFile, 'two')
    expect(await read()).toBe('Bearer one')
    await clock.advance(60_000)
    expect(await read()).toBe('Bearer two')
    await rm(tokenFile)
    await clock.advance(60_000)
    expect(await read()).toBe('Bearer two')
  })

  test('connects through a proxy', async () => {
    const port = await serve((_request, response) => json(response, 'fine'))
    const asked: string[] = []
    const proxy = http.createServer().on('connect', (request: http.IncomingMessage, socket) => {
      asked.push(request.url ?? '')
      const to = connectSocket(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        to.pipe(socket).pipe(to)
      })
      to.on('error', () => socket.destroy())
      socket.on('error', () => to.destroy())
      closing.push(() => to.destroy())
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    closing.push(() => {
      proxy.closeAllConnections()
      proxy.close()
    })
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    expect((await transport(port, { proxyUrl }).request({ method: 'GET', path: '/' })).body).toBe('fine')
    expect(asked).toEqual([`127.0.0.1:${port}`])
  })

  test('streams the lines of a watch, also characters that span chunks', async () => {
    const events = ['ä', 'b'].map((name) => ({
      type: 'ADDED',
      object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    }))
    const port = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const bytes = Buffer.from(events.map((event) => JSON.stringify(event)).join('\n') + '\n')
      const middle = bytes.indexOf(0xc3) + 1
      response.write(bytes.subarray(0, middle), () => setImmediate(() => response.end(bytes.subarray(middle))))
    })
    const watch = await transport(port).watch({ method: 'GET', path: '/', query: { watch: true } })
    if (!('events' in watch)) throw new Error('refused')
    expect(await Array.fromAsync(watch.events)).toEqual(events)
  })

  test('a refused watch returns the response, a broken one throws, a left one closes, an aborted one throws the reason', async () => {
    let closed: () => void
    const gone = new Promise<void>((resolve) => (closed = resolve))
    const port = await serve((request, response) => {
      if (request.url?.startsWith('/refuse')) return json(response, { kind: 'Status', code: 403 }, 403)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"type":"BOOKMARK","object":{}}\n')
      if (request.url?.startsWith('/break')) setImmediate(() => request.socket.destroy())
      response.on('close', () => request.url?.startsWith('/leave') && closed())
    })
    const sender = transport(port)
    expect(await sender.watch({ method: 'GET', path: '/refuse' })).toMatchObject({ refused: { status: 403 } })
    const broken = await sender.watch({ method: 'GET', path: '/break' })
    await expect(Array.fromAsync((broken as { events: AsyncIterable<unknown> }).events)).rejects.toMatchObject({
      code: 'ConnectionFailed',
      remote: true,
    })
    const left = await sender.watch({ method: 'GET', path: '/leave' })
    for await (const _event of (left as { events: AsyncIterable<unknown> }).events) break
    await gone
    const stop = new AbortController()
    const aborted = await sender.watch({ method: 'GET', path: '/stay', signal: stop.signal })
    const reading = Array.fromAsync((aborted as { events: AsyncIterable<unknown> }).events)
    stop.abort(new Error('enough'))
    await expect(reading).rejects.toThrow()
  })

  test('works over plain HTTP and under a path', async () => {
    const port = await serve((request, response) => json(response, request.url), { plain: true })
    const sender = transport(port, { server: `http://127.0.0.1:${port}/clusters/a/` })
    expect((await sender.request({ method: 'GET', path: '/api' })).body).toBe('/clusters/a/api')
  })

  test('an unreachable server is a ConnectionFailed that names the request', async () => {
    const port = await serve(() => {})
    for (const close of closing.splice(0)) await close()
    await expect(transport(port).request({ method: 'DELETE', path: '/api/x' })).rejects.toMatchObject({
      code: 'ConnectionFailed',
      message: expect.stringMatching(new RegExp(`^DELETE https://127.0.0.1:${port}/api/x: .*ECONNREFUSED`)) as unknown,
    })
  })
})

describe('retries', () => {
  test.each([
    { name: 'a read that was throttled', method: 'get', status: 429, expected: 3 },
    { name: 'a read while the server starts', method: 'get', status: 503, expected: 3 },
    { name: 'a write that was throttled, not', method: 'delete', status: 429, expected: 1 },
    { name: 'a read that failed inside, not', method: 'get', status: 500, expected: 1 },
  ])('$name', async ({ method, status, expected }) => {
    let requests = 0
    const port = await serve((_request, response) => {
      requests++
      if (requests < 3)
        json(
          response,
          {
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: 'Failure',
            reason: 'TooManyRequests',
            message: 'slow down',
            code: status,
          },
          status,
          { 'retry-after': '1' },
        )
      else json(response, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } })
    })
    const clock = new FakeClock()
    const client = new Client({ transport: transport(port), clock, random: () => 0 })
    let settled = false
    const outcome = (method === 'get' ? client.get(Namespace, 'a') : client.delete(Namespace, 'a')).then(
      () => 'ok',
      (error: Error) => error.message,
    )
    void outcome.then(() => (settled = true))
    while (!settled) await clock.advance(clock.untilNext() ?? 0)
    expect([await outcome, requests]).toEqual([expected === 3 ? 'ok' : 'slow down', expected])
  })

  test('retries a read whose connection broke, and not a write', async () => {
    let requests = 0
    const port = await serve((request, response) => {
      requests++
      if (requests % 2 === 1) request.socket.destroy()
      else json(response, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } })
    })
    const clock = new FakeClock()
    const client = new Client({ transport: transport(port), clock, random: () => 0 })
    let settled = false
    const read = client.get(Namespace, 'a').finally(() => (settled = true))
    while (!settled) await clock.advance(clock.untilNext() ?? 0)
    expect([(await read).metadata.name, requests]).toEqual(['a', 2])
    await expect(client.delete(Namespace, 'a')).rejects.toMatchObject({ code: 'ConnectionFailed' })
    expect(requests).toBe(3)
  })
})
