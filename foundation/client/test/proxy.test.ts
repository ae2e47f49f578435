// Ways through proxies: which one the environment names, and SOCKS5 with a real proxy.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { connect as connectSocket, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { HttpsTransport, findConnection } from '@fairlead/client'
import { afterEach, describe, expect, test } from 'vitest'
import { caCertificate, serverCertificate, serverKey } from '../../../test/support/certificates.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

describe('the environment', () => {
  const cases: [string, Record<string, string>, string | undefined][] = [
    ['https://api.test', {}, undefined],
    ['https://api.test', { HTTPS_PROXY: 'http://p:3128' }, 'http://p:3128'],
    ['https://api.test', { https_proxy: 'p:3128' }, 'http://p:3128'],
    ['https://api.test', { HTTP_PROXY: 'http://p:3128' }, undefined],
    ['http://api.test', { HTTP_PROXY: 'http://p:3128' }, 'http://p:3128'],
    ['https://api.test', { HTTPS_PROXY: 'socks5://p:1080' }, 'socks5://p:1080'],
    ['https://127.0.0.1:6443', { HTTPS_PROXY: 'http://p' }, undefined],
    ['https://[::1]:6443', { HTTPS_PROXY: 'http://p' }, undefined],
    ['https://localhost', { HTTPS_PROXY: 'http://p' }, undefined],
    ['https://api.test', { HTTPS_PROXY: 'http://p', NO_PROXY: '*' }, undefined],
    ['https://api.test', { HTTPS_PROXY: 'http://p', NO_PROXY: 'other.test, test' }, undefined],
    ['https://test', { HTTPS_PROXY: 'http://p', NO_PROXY: '.test' }, 'http://p'],
    ['https://api.test', { HTTPS_PROXY: 'http://p', NO_PROXY: '.test' }, undefined],
    ['https://api.test', { HTTPS_PROXY: 'http://p', NO_PROXY: '*.test' }, undefined],
    ['https://myapi.test', { HTTPS_PROXY: 'http://p', NO_PROXY: 'api.test' }, 'http://p'],
    ['https://api.test:6443', { HTTPS_PROXY: 'http://p', NO_PROXY: 'api.test:6443' }, undefined],
    ['https://api.test', { HTTPS_PROXY: 'http://p', NO_PROXY: 'api.test:6443' }, 'http://p'],
    ['https://10.1.2.3', { HTTPS_PROXY: 'http://p', NO_PROXY: '10.0.0.0/8' }, undefined],
    ['https://11.1.2.3', { HTTPS_PROXY: 'http://p', NO_PROXY: '10.0.0.0/8' }, 'http://p'],
    ['https://10.1.2.3', { HTTPS_PROXY: 'http://p', no_proxy: '10.1.2.3' }, undefined],
    ['https://[fd00::7]', { HTTPS_PROXY: 'http://p', NO_PROXY: 'fd00::/16' }, undefined],
    ['https://[fd00::7]', { HTTPS_PROXY: 'http://p', NO_PROXY: 'fd00::7' }, undefined],
    ['https://10.1.2.3', { HTTPS_PROXY: 'http://p', NO_PROXY: 'nonsense/99,10.0.0.0/99' }, 'http://p'],
  ]
  test.each(cases)('for %s with %j selects the proxy %s', async (server, env, expected) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'fairlead-proxy-'))
    closing.push(() => rm(folder, { recursive: true }))
    const file = path.join(folder, 'config')
    await writeFile(
      file,
      `current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: "${server}"}}]\n`,
    )
    expect((await findConnection({ file, env })).proxyUrl).toBe(expected)
  })
})

/** A SOCKS5 proxy that leads every name to this machine and writes down what it was asked. */
async function socksProxy(account?: string): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const converse = async (socket: Socket): Promise<void> => {
    const bytes = socket[Symbol.asyncIterator]()
    let rest = Buffer.alloc(0)
    const take = async (length: number): Promise<Buffer> => {
      while (rest.length < length) rest = Buffer.concat([rest, ((await bytes.next()) as { value: Buffer }).value])
      const taken = rest.subarray(0, length)
      rest = rest.subarray(length)
      return taken
    }
    const [, methods] = await take(2)
    const offered = await take(methods!)
    const method = account === undefined ? 0 : 2
    // In two pieces: answers do not keep together on the way.
    socket.write(Buffer.from([5]))
    await new Promise((resolve) => setImmediate(resolve))
    socket.write(Buffer.from([offered.includes(method) ? method : 0xff]))
    if (account !== undefined) {
      const [, user] = await take(2)
      const name = String(await take(user!))
      const secret = String(await take((await take(1))[0]!))
      socket.write(Buffer.from([1, `${name}:${secret}` === account ? 0 : 1]))
    }
    const [, , , type] = await take(4)
    const host =
      type === 3
        ? String(await take((await take(1))[0]!))
        : type === 1
          ? (await take(4)).join('.')
          : (await take(16)).toString('hex')
    const port = (await take(2)).readUInt16BE()
    asked.push(`${host}:${port}`)
    if (host === 'closed.test') return void socket.end(Buffer.from([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]))
    const to = connectSocket(port, '127.0.0.1', () => {
      socket.write(Buffer.from([5, 0, 0, 3, 4, ...Buffer.from('here'), 0, 80]))
      to.pipe(socket)
      to.write(rest)
      void (async () => {
        for (let next = await bytes.next(); !next.done; next = await bytes.next()) to.write(next.value as Buffer)
        to.end()
      })().catch(() => to.destroy())
    })
    to.on('error', () => socket.destroy())
    closing.push(() => to.destroy())
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    closing.push(() => socket.destroy())
    converse(socket).catch(() => socket.destroy())
  })
  const port = await portOf(server)
  return { asked, url: `socks5://${account === undefined ? '' : `${account}@`}127.0.0.1:${port}` }
}

async function apiServer(isPlain: boolean): Promise<number> {
  const answer = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(request.url))
  }
  const server = isPlain
    ? http.createServer(answer)
    : https.createServer({ key: serverKey, cert: serverCertificate }, answer)
  closing.push(() => server.closeAllConnections())
  return portOf(server)
}

describe('a SOCKS5 proxy', () => {
  test.each<[string, boolean, string | undefined]>([
    ['HTTPS', false, undefined],
    ['HTTP', true, undefined],
    ['HTTPS, with an account', false, 'me:secret'],
  ])('carries requests over %s, and looks names up', async (_, isPlain, account) => {
    const port = await apiServer(isPlain)
    const proxy = await socksProxy(account)
    const server = `${isPlain ? 'http' : 'https'}://server.test:${port}`
    await using transport = new HttpsTransport({ server, ca: caCertificate, proxyUrl: proxy.url })
    for (const at of ['/a', '/b']) expect((await transport.request({ method: 'GET', path: at })).body).toBe(at)
    expect(proxy.asked).toEqual([`server.test:${port}`])
  })

  test('receives IP addresses unresolved', async () => {
    const proxy = await socksProxy()
    for (const server of ['http://10.0.0.1:1', 'http://[fd00::7:1]:1']) {
      await using transport = new HttpsTransport({ server, proxyUrl: proxy.url })
      await transport.request({ method: 'GET', path: '/' }).catch(() => {})
    }
    expect(proxy.asked).toEqual(['10.0.0.1:1', `fd00${'0'.repeat(20)}00070001:1`])
  })

  test.each([
    ['closed.test', undefined, undefined, 'the proxy refused: connection refused'],
    ['server.test', 'me:secret', 'me:wrong', 'it rejected the user and password'],
    ['server.test', 'me:secret', '', 'it requires another authentication method'],
  ])('that does not let through to %s is named', async (host, account, shown, message) => {
    const proxy = await socksProxy(account)
    const proxyUrl = shown === undefined ? proxy.url : proxy.url.replace(/\/\/.*@/, shown === '' ? '//' : `//${shown}@`)
    await using transport = new HttpsTransport({ server: `https://${host}:1`, proxyUrl })
    await expect(transport.request({ method: 'GET', path: '/' })).rejects.toMatchObject({
      code: 'ConnectionFailed',
      message: expect.stringContaining(message),
    })
  })
})
