// The limits of requests in flight, over HTTPS: what a client may cost before and after it is authenticated.
import { once } from 'node:events'
import { Agent, request as httpsRequest } from 'node:https'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import type { RequestLimitOptions } from '@fairlead/apiserver'
import { eventually } from '../../../../test/support/until.ts'

const users = ['alice', 'bob'].map((name) => ({ token: `${name}-token`, user: { name, groups: [] } }))

interface Running extends AsyncDisposable {
  /** Sends the head of a request; `length` bytes of body are announced. */
  send(options: { token?: string; length?: number; path?: string }): ClientRequest
  get(token: string): Promise<number>
}

async function start(requestLimits?: RequestLimitOptions): Promise<Running> {
  const server = await ApiServer.start({
    controllers: false,
    tokens: users,
    ...(requestLimits === undefined ? {} : { requestLimits }),
  })
  const { host, port, certificateAuthority: ca } = await server.listen()
  const agent = new Agent({ ca, keepAlive: false })
  const send: Running['send'] = ({ token, length, path = '/api/v1/namespaces/default/configmaps' }) => {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(length === undefined ? {} : { 'content-length': length, 'content-type': 'application/json' }),
    }
    const sent = httpsRequest({ host, port, agent, path, method: length === undefined ? 'GET' : 'POST', headers })
    sent.on('error', () => undefined)
    sent.flushHeaders()
    return sent
  }
  const get = async (token: string): Promise<number> => {
    const sent = send({ token })
    sent.end()
    return (await responseTo(sent)).statusCode!
  }
  return {
    send,
    get,
    async [Symbol.asyncDispose]() {
      agent.destroy()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function responseTo(sent: ClientRequest): Promise<IncomingMessage & { text: string }> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString()
  return Object.assign(response, { text })
}

const generous = { perUser: 1000, total: 1000 }
const anyBytes = { perUser: 1e9, total: 1e9 }

test('responds with 401 to an invalid token without waiting for the body', async () => {
  await using server = await start()
  const sent = server.send({ token: 'invalid', length: 3_000_000 })
  expect((await responseTo(sent)).statusCode).toBe(401)
  sent.destroy()
})

test('responds with 403 to a user without the permission, without waiting for the body', async () => {
  await using server = await ApiServer.start({ controllers: false, tokens: users, authorization: 'RBAC' })
  const { host, port, certificateAuthority: ca } = await server.listen()
  const headers = { authorization: 'Bearer alice-token', 'content-length': 3_000_000 }
  const path = '/api/v1/namespaces/default/configmaps'
  const sent = httpsRequest({ host, port, ca, path, method: 'POST', headers }).on('error', () => undefined)
  sent.flushHeaders()
  expect((await responseTo(sent)).statusCode).toBe(403)
  sent.destroy()
})

test('refuses requests of one user beyond the limit with 429, and serves other users and health checks', async () => {
  await using server = await start({ requests: { perUser: 2, total: 1000 }, bodyBytes: anyBytes })
  const open = [1, 2].map(() => server.send({ token: 'alice-token', length: 100 }))
  const refused = await eventually(async () => {
    const response = await responseTo(server.send({ token: 'alice-token' }).end())
    expect(response.statusCode).toBe(429)
    return response
  })
  expect({ text: refused.text, retryAfter: refused.headers['retry-after'] }).toEqual({
    text: 'Too many requests, please try again later.\n',
    retryAfter: '1',
  })
  expect(await server.get('bob-token')).toBe(200)
  expect((await responseTo(server.send({ token: 'alice-token', path: '/readyz' }).end())).statusCode).toBe(200)
  for (const sent of open) sent.destroy()
  await eventually(async () => expect(await server.get('alice-token')).toBe(200))
})

test('refuses requests of all users beyond the limit of all', async () => {
  await using server = await start({ requests: { perUser: 1000, total: 2 }, bodyBytes: anyBytes })
  const open = users.map(({ token }) => server.send({ token, length: 100 }))
  await eventually(async () => expect(await server.get('bob-token')).toBe(429))
  for (const sent of open) sent.destroy()
  await eventually(async () => expect(await server.get('bob-token')).toBe(200))
})

test('refuses a body when those of its user, or of all, would take more bytes than allowed', async () => {
  await using server = await start({ requests: generous, bodyBytes: { perUser: 1000, total: 1500 } })
  const open = [server.send({ token: 'alice-token', length: 900 })]
  await eventually(async () =>
    expect((await responseTo(server.send({ token: 'alice-token', length: 200 }).end(' '.repeat(200)))).statusCode).toBe(
      429,
    ),
  )
  open.push(server.send({ token: 'bob-token', length: 500 }))
  await eventually(async () =>
    expect((await responseTo(server.send({ token: 'bob-token', length: 200 }).end(' '.repeat(200)))).statusCode).toBe(
      429,
    ),
  )
  expect([await server.get('alice-token'), await server.get('bob-token')]).toEqual([200, 200])
  for (const sent of open) sent.destroy()
})

test('watches do not count as requests in flight', async () => {
  await using server = await start({ requests: { perUser: 1, total: 1 }, bodyBytes: anyBytes })
  const path = '/api/v1/namespaces/default/configmaps?watch=true'
  for (let count = 0; count < 3; count++) {
    const [response] = (await once(server.send({ token: 'alice-token', path }).end(), 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(200)
  }
  expect(await server.get('alice-token')).toBe(200)
})
