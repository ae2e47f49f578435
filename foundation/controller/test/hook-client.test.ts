import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { EndpointWaiters, HookClient, HookHosts } from '@fairlead/controller'
import type { HookCall, HookEndpoint, HookError } from '@fairlead/controller'
import { systemClock } from '@fairlead/client'
import { FakeClock } from '@fairlead/kube'
import { afterEach, describe, expect, test } from 'vitest'
import {
  caCertificate,
  clientCertificate,
  clientKey,
  serverCertificate,
  serverKey,
} from '../../../test/support/certificates.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

type Handler = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void

async function serve(handler: Handler, secure = false): Promise<number> {
  const listen = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    handler(request, response, body)
  }
  const listener = (request: http.IncomingMessage, response: http.ServerResponse): void =>
    void listen(request, response).catch(() => response.destroy())
  const server = secure
    ? https.createServer(
        { key: serverKey, cert: serverCertificate, ca: caCertificate, requestCert: true, rejectUnauthorized: false },
        listener,
      )
    : http.createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function hooks(options: Partial<ConstructorParameters<typeof HookClient>[0]> = {}): HookClient {
  const client = new HookClient({ clock: systemClock, ...options })
  closing.push(() => client[Symbol.asyncDispose]())
  return client
}

async function failure(client: HookClient, endpoint: HookEndpoint, call: HookCall = { body: {} }): Promise<HookError> {
  return client.call(endpoint, call).then(
    () => {
      throw new Error('the call succeeded')
    },
    (error: HookError) => error,
  )
}

describe('calling hooks', () => {
  test('posts JSON and returns the raw response, over one connection', async () => {
    const seen: unknown[] = []
    const sockets = new Set<unknown>()
    const port = await serve((request, response, body) => {
      sockets.add(request.socket)
      seen.push([
        request.method,
        request.url,
        request.headers['content-type'],
        request.headers.host,
        request.headers['x-a'],
        body,
      ])
      response.writeHead(200, { etag: '"1"' }).end('{"outputs":[]}')
    })
    const client = hooks()
    const endpoint = { url: `http://127.0.0.1:${port}/map?x=1` }
    const answer = await client.call(endpoint, { body: { big: 9007199254740993n }, headers: { 'x-a': 'b' } })
    await client.call(endpoint, { body: 1 })
    expect(seen).toEqual([
      ['POST', '/map?x=1', 'application/json', `127.0.0.1:${port}`, 'b', '{"big":9007199254740993}'],
      ['POST', '/map?x=1', 'application/json', `127.0.0.1:${port}`, undefined, '1'],
    ])
    expect(answer).toMatchObject({
      status: 200,
      text: '{"outputs":[]}',
      bytesSent: 24,
      bytesReceived: 14,
      headers: { etag: '"1"' },
    })
    expect(sockets.size).toBe(1)
  })

  test.each<[string, HookEndpoint['authorization'], string | undefined]>([
    ['nobody', undefined, undefined],
    ['a bearer', { credentials: 'abc' }, 'Bearer abc'],
    ['another scheme', { type: 'Token', credentials: 'abc' }, 'Token abc'],
    ['a user', { username: 'u', password: 'p:w' }, `Basic ${Buffer.from('u:p:w').toString('base64')}`],
  ])('as %s', async (_name, authorization, header) => {
    const port = await serve((request, response) => response.end(JSON.stringify(request.headers.authorization ?? null)))
    const { text } = await hooks().call({ url: `http://127.0.0.1:${port}`, authorization }, { body: {} })
    expect(JSON.parse(text)).toBe(header ?? null)
  })

  test('calls over TLS with a CA bundle and a client certificate; a hook without the bundle is unreachable', async () => {
    const port = await serve(
      (request, response) => response.end(JSON.stringify((request.socket as TLSSocket).getPeerCertificate().subject)),
      true,
    )
    const url = `https://server.test:${port}/map`
    const client = hooks({
      resolve: async (host, at) => (host === 'server.test' ? { host: '127.0.0.1', port: at } : undefined),
    })
    const tls = { ca: caCertificate, certificate: clientCertificate, key: clientKey }
    expect(JSON.parse((await client.call({ url, tls }, { body: {} })).text)).toEqual({ O: 'devs', CN: 'alice' })
    expect(await failure(client, { url })).toMatchObject({ code: 'HookUnreachable', remote: true, endpoint: url })
  })

  test.each<[string, Handler, HookCall, object]>([
    [
      'a failing status',
      (_q, r) => r.writeHead(500).end('no\n luck'),
      { body: {} },
      { code: 'HookFailed', status: 500, message: 'The hook http://HOST/map responded 500: no luck' },
    ],
    [
      'a redirect',
      (_q, r) => r.writeHead(307, { location: '/x' }).end(),
      { body: {} },
      { code: 'HookFailed', status: 307 },
    ],
    [
      'a status that only a caller with an ETag takes',
      (_q, r) => r.writeHead(304).end(),
      { body: {} },
      { code: 'HookFailed', status: 304 },
    ],
    [
      'patience in seconds',
      (_q, r) => r.writeHead(429, { 'retry-after': '7' }).end(),
      { body: {} },
      { code: 'HookThrottled', status: 429, retryAfter: 7000 },
    ],
    [
      'patience until a date',
      (_q, r) => r.writeHead(429, { 'retry-after': 'Sun, 01 Mar 2026 10:00:30 GMT' }).end(),
      { body: {} },
      { code: 'HookThrottled', retryAfter: 30_000 },
    ],
    [
      'no patience named',
      (_q, r) => r.writeHead(429).end(),
      { body: {} },
      { code: 'HookFailed', status: 429, retryAfter: undefined },
    ],
    [
      'too long an answer',
      (_q, r) => r.end('x'.repeat(2000)),
      { body: {} },
      { code: 'HookResponseTooLarge', message: 'The hook http://HOST/map returned more than 1000 bytes' },
    ],
    ['a broken connection', (q) => q.socket.destroy(), { body: {} }, { code: 'HookUnreachable' }],
    [
      'half a response',
      (q, r) => {
        r.setHeader('content-length', 10)
        r.write('{"a', () => q.socket.destroy())
      },
      { body: {} },
      { code: 'HookUnreachable', message: 'The hook http://HOST/map broke off its response: aborted' },
    ],
  ])('%s', async (_name, handler, call, expected) => {
    const port = await serve(handler)
    const error = await failure(
      hooks({ clock: new FakeClock('2026-03-01T10:00:00Z') }),
      { url: `http://127.0.0.1:${port}/map`, maxResponseBytes: 1000 },
      call,
    )
    const { code, status, retryAfter } = error
    expect({ code, status, retryAfter, message: error.message.replace(`127.0.0.1:${port}`, 'HOST') }).toMatchObject(
      expected,
    )
  })

  test('a hook that does not respond in time fails with HookTimeout, also in the middle of its response', async () => {
    const clock = new FakeClock()
    let [asked, hold] = [0, false]
    const port = await serve((_request, response) => {
      asked++
      if (hold) response.write('{')
    })
    for (hold of [false, true]) {
      const before = asked
      const call = failure(hooks({ clock }), { url: `http://127.0.0.1:${port}/map`, timeout: 3000 })
      while (asked === before) await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(3000)
      expect(await call).toMatchObject({
        code: 'HookTimeout',
        message: `The hook http://127.0.0.1:${port}/map did not respond within 3 s`,
      })
    }
  })

  test('a keep-alive connection that the hook has closed is replaced without a failure', async () => {
    let calls = 0
    const port = await serve((request, response) => {
      calls++
      response.end('{}', () => calls === 1 && setImmediate(() => request.socket.destroy()))
      if (calls === 1) response.shouldKeepAlive = true
    })
    const client = hooks()
    for (let call = 0; call < 5; call++)
      expect((await client.call({ url: `http://127.0.0.1:${port}` }, { body: call })).status).toBe(200)
    expect(calls).toBe(5)
  })

  test('an aborted signal cancels the call', async () => {
    const stop = new AbortController()
    const port = await serve(() => stop.abort(new Error('enough')))
    await expect(hooks().call({ url: `http://127.0.0.1:${port}` }, { body: {}, signal: stop.signal })).rejects.toThrow(
      'enough',
    )
  })

  test('accepted status codes are successes and wake work that waits for the endpoint', async () => {
    const endpoints = new EndpointWaiters()
    const woken: string[] = []
    const port = await serve((_request, response) => response.writeHead(304).end())
    const url = `http://127.0.0.1:${port}/map`
    endpoints.waitFor(url, 'me', () => woken.push('me'))
    endpoints.waitFor(`${url}2`, 'you', () => woken.push('you'))
    const answer = await hooks({ endpoints }).call({ url: `${url}?a=1` }, { body: {}, alsoAccepted: [304] })
    expect([answer.status, woken]).toEqual([304, ['me']])
  })

  test('calls of a hook that is down are suspended, one at a time tries it, and a success resumes all', async () => {
    const clock = new FakeClock()
    let [calls, status] = [0, 503]
    const port = await serve((_request, response) => {
      calls++
      response.writeHead(status).end('{}')
    })
    const url = `http://127.0.0.1:${port}/map`
    const client = hooks({ clock, suspendsCalls: true })
    for (let call = 0; call < 5; call++) expect((await failure(client, { url })).code).toBe('HookFailed')
    expect(await failure(client, { url })).toMatchObject({
      code: 'HookSuspended',
      endpoint: url,
      retryAfter: 500,
      message: `The hook ${url} is tried again in 1 s, because its last 5 calls failed: The hook ${url} responded 503: {}`,
    })
    expect((await failure(client, { url: `${url}2` })).code).toBe('HookFailed')
    await clock.advance(500)
    const codes = await Promise.all([1, 2, 3].map(async () => (await failure(client, { url })).code))
    expect([codes, calls]).toEqual([['HookFailed', 'HookSuspended', 'HookSuspended'], 7])
    status = 200
    await clock.advance(5000)
    for (let call = 0; call < 3; call++) expect((await client.call({ url }, { body: {} })).status).toBe(200)
  })

  test('a hook that responds with errors of its own is not suspended', async () => {
    const port = await serve((_request, response) => response.writeHead(500).end('no'))
    const client = hooks({ suspendsCalls: true })
    for (let call = 0; call < 10; call++)
      expect((await failure(client, { url: `http://127.0.0.1:${port}` })).code).toBe('HookFailed')
  })

  test.each(['http://169.254.169.254/latest', 'http://[fe80::1]/map', 'http://0xa9.254.0xa9fe/map'])(
    'a link-local address is refused: %s',
    async (url) => {
      expect(await failure(hooks(), { url })).toMatchObject({
        code: 'HookUnreachable',
        message: expect.stringContaining('is a link-local address'),
      })
    },
  )

  test('a Service that resolves to a link-local address is refused', async () => {
    const resolve = async (): Promise<{ host: string; port: number }> => ({ host: '169.254.169.254', port: 80 })
    expect((await failure(hooks({ resolve }), { url: 'http://hook.team.svc/map' })).message).toContain('link-local')
  })

  test('only hosts that an administrator allows are called', async () => {
    const port = await serve((_request, response) => void response.end('{}'))
    const resolve = async (): Promise<{ host: string; port: number }> => ({ host: '127.0.0.1', port })
    const client = hooks({ resolve, hosts: new HookHosts(['hook.example.com', '*.team.svc', '::1']) })
    for (const host of ['hook.example.com', 'HOOK.example.com.', 'map.team.svc', '[::1]'])
      expect((await client.call({ url: `http://${host}/map` }, { body: {} })).status).toBe(200)
    for (const host of ['example.com', 'a.hook.example.com', 'team.svc', 'evilteam.svc', '127.0.0.1', 'team.svc.evil'])
      expect(await failure(client, { url: `http://${host}/map` })).toMatchObject({
        code: 'HookHostRefused',
        message: `The hook http://${host}/map is refused: ${host} is not among the hosts that hooks may have (hook.example.com, *.team.svc, ::1)`,
      })
  })

  test('a host that cannot be resolved is HookAddressUnknown', async () => {
    const resolve = async (): Promise<undefined> => {
      throw new Error('no Service hook in namespace team')
    }
    expect(await failure(hooks({ resolve }), { url: 'http://hook.team.svc/map' })).toMatchObject({
      code: 'HookAddressUnknown',
      message: 'The address of the hook http://hook.team.svc/map cannot be found: no Service hook in namespace team',
    })
  })
})
