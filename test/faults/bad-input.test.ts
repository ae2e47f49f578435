// Bad input tried on the API server over HTTPS (specs: foundation §1.4): a Status of the right code or a closed
// connection, and the server goes on.
import { connect as connectTls } from 'node:tls'
import { Agent, request } from 'node:https'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import type { Listening } from '@fairlead/apiserver'
import { patience } from '../support/until.ts'

interface Answer {
  readonly status: number
  readonly body: {
    readonly reason?: string
    readonly message?: string
    readonly code?: number
    readonly [field: string]: unknown
  }
}

const configMaps = '/api/v1/namespaces/default/configmaps'
const json = 'application/json'

let server: ApiServer
let listening: Listening
let agent: Agent

beforeAll(async () => {
  server = await ApiServer.start({
    tokens: [{ token: 'admin', user: { name: 'admin', groups: ['system:masters'] } }],
    authorization: 'RBAC',
  })
  listening = await server.listen()
  agent = new Agent({ keepAlive: true, ca: listening.certificateAuthority, maxSockets: 200 })
  const created = await send(
    'POST',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    json,
    JSON.stringify(definition),
  )
  expect(created.status).toBe(201)
  await server
    .client()
    .waitFor(
      { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      definition.metadata.name,
      (crd) =>
        JSON.stringify(crd['status'] ?? {}).includes('"Established","status":"True"') ||
        JSON.stringify(crd).includes('initial names have been accepted'),
    )
})

afterAll(async () => {
  agent.destroy()
  await server[Symbol.asyncDispose]()
})

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.bad.example.com' },
  spec: {
    group: 'bad.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        },
      },
    ],
  },
}

function send(
  method: string,
  path: string,
  contentType?: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: listening.host,
        port: listening.port,
        agent,
        method,
        path,
        headers: {
          Authorization: 'Bearer admin',
          ...(contentType ? { 'Content-Type': contentType } : {}),
          ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          let parsed: Answer['body']
          try {
            parsed = JSON.parse(text) as Answer['body']
          } catch {
            parsed = { message: text }
          }
          resolve({ status: response.statusCode ?? 0, body: parsed })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const configMap = (name: string, data: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })

/** The server still answers, and answers right. */
async function goesOn(): Promise<void> {
  const { status } = await send('GET', `${configMaps}?limit=1`)
  expect(status).toBe(200)
}

describe('bodies', () => {
  test.each([
    ['JSON that breaks off', 'POST', configMaps, json, '{"apiVersion":"v1","kind":"ConfigMap"', 400, 'BadRequest'],
    ['an empty body', 'POST', configMaps, json, '', 400, 'BadRequest'],
    ['a list instead of an object', 'POST', configMaps, json, '[]', 400, 'BadRequest'],
    ['a string instead of an object', 'POST', configMaps, json, '"configmap"', 400, 'BadRequest'],
    ['null, which is an object with nothing in it', 'POST', configMaps, json, 'null', 422, 'Invalid'],
    ['YAML that is none', 'POST', configMaps, 'application/yaml', 'a: [b\n: c', 400, 'BadRequest'],
    [
      'protobuf that is none',
      'POST',
      configMaps,
      'application/vnd.kubernetes.protobuf',
      'k8s\0\xff\xff\xff\xff',
      400,
      'BadRequest',
    ],
    [
      'protobuf without its magic number',
      'POST',
      configMaps,
      'application/vnd.kubernetes.protobuf',
      'hello',
      400,
      'BadRequest',
    ],
    ['an unknown media type', 'POST', configMaps, 'text/csv', 'a,b', 415, 'UnsupportedMediaType'],
    [
      'a custom resource as protobuf',
      'POST',
      '/apis/bad.example.com/v1/namespaces/default/things',
      'application/vnd.kubernetes.protobuf',
      'k8s\0',
      415,
      'UnsupportedMediaType',
    ],
    [
      'a wrong type in a field',
      'POST',
      configMaps,
      json,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":[1]}',
      400,
      'BadRequest',
    ],
    [
      'a strategic patch of a custom resource',
      'PATCH',
      '/apis/bad.example.com/v1/namespaces/default/things/x',
      'application/strategic-merge-patch+json',
      '{}',
      415,
      'UnsupportedMediaType',
    ],
    [
      'a JSON patch that is no list',
      'PATCH',
      `${configMaps}/kube-root-ca.crt`,
      'application/json-patch+json',
      '{}',
      400,
      'BadRequest',
    ],
    [
      'an apply without a manager',
      'PATCH',
      `${configMaps}/x`,
      'application/apply-patch+yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n',
      422,
      'Invalid',
    ],
  ])('%s', async (_, method, path, type, body, status, reason) => {
    const answer = await send(method, path, type, Buffer.from(body, 'latin1'))
    expect({ status: answer.status, code: answer.body.code, reason: answer.body.reason }).toEqual({
      status,
      code: status,
      reason,
    })
    expect(answer.body.message).not.toBe('')
    await goesOn()
  })

  test.each([
    ['100,000 levels of JSON', json, `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 400, 'BadRequest'],
    ['60,000 levels of YAML', 'application/yaml', '['.repeat(60_000), 400, 'BadRequest'],
    ['100,000 levels of YAML', 'application/yaml', '['.repeat(100_000), 413, 'RequestEntityTooLarge'],
  ])('nesting of %s is refused', async (_, type, body, status, reason) => {
    const answer = await send('POST', '/apis/bad.example.com/v1/namespaces/default/things', type, body)
    expect({ status: answer.status, reason: answer.body.reason }).toEqual({ status, reason })
    await goesOn()
  })

  test('a YAML bomb of aliases is refused before it fills memory', async () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) =>
        `l${level}: &l${level} [${Array.from({ length: 10 }, () => (level === 0 ? 'x' : `*l${level - 1}`)).join(', ')}]`,
    )
    const answer = await send(
      'POST',
      configMaps,
      'application/yaml',
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n${levels.join('\n')}\n`,
    )
    expect(answer.status).toBe(400)
    await goesOn()
  })

  test('a body over 3 MiB is refused', async () => {
    const answer = await send('POST', configMaps, json, configMap('large', { a: 'x'.repeat(3 * 1024 * 1024) }))
    expect({ status: answer.status, reason: answer.body.reason }).toEqual({
      status: 413,
      reason: 'RequestEntityTooLarge',
    })
    await goesOn()
  })

  test('an object over 1.5 MiB is not stored', async () => {
    const answer = await send(
      'POST',
      '/apis/bad.example.com/v1/namespaces/default/things',
      json,
      JSON.stringify({
        apiVersion: 'bad.example.com/v1',
        kind: 'Thing',
        metadata: { name: 'large' },
        spec: { a: 'x'.repeat(1.6 * 1024 * 1024) },
      }),
    )
    expect({ status: answer.status, reason: answer.body.reason }).toEqual({
      status: 413,
      reason: 'RequestEntityTooLarge',
    })
    expect((await send('GET', '/apis/bad.example.com/v1/namespaces/default/things/large')).status).toBe(404)
  })

  test('a JSON patch of more than 10,000 operations is refused', async () => {
    await send('POST', configMaps, json, configMap('patched'))
    const patch = JSON.stringify(Array.from({ length: 10_001 }, () => ({ op: 'add', path: '/data', value: {} })))
    const answer = await send('PATCH', `${configMaps}/patched`, 'application/json-patch+json', patch)
    expect({ status: answer.status, reason: answer.body.reason }).toEqual({
      status: 413,
      reason: 'RequestEntityTooLarge',
    })
  })

  test('__proto__ is a field like any other and reaches no prototype', async () => {
    const body =
      '{"apiVersion":"bad.example.com/v1","kind":"Thing","metadata":{"name":"proto"},"spec":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}'
    expect((await send('POST', '/apis/bad.example.com/v1/namespaces/default/things', json, body)).status).toBe(201)
    expect(
      (
        await send(
          'PATCH',
          '/apis/bad.example.com/v1/namespaces/default/things/proto',
          'application/merge-patch+json',
          '{"spec":{"__proto__":{"more":1}}}',
        )
      ).status,
    ).toBe(200)
    expect(
      (
        await send(
          'PATCH',
          '/apis/bad.example.com/v1/namespaces/default/things/proto',
          'application/json-patch+json',
          '[{"op":"add","path":"/spec/__proto__/again","value":1}]',
        )
      ).status,
    ).toBe(200)
    const { body: stored } = await send('GET', '/apis/bad.example.com/v1/namespaces/default/things/proto')
    expect(JSON.stringify((stored as { spec?: object }).spec)).toBe(
      '{"__proto__":{"again":1,"more":1,"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    )
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('queries and headers', () => {
  test.each([
    ['a label selector that is none', 'GET', `${configMaps}?labelSelector=a%20in%20(`, 400],
    ['a field that cannot be selected', 'GET', `${configMaps}?fieldSelector=data.x%3D1`, 400],
    ['a continue token of someone else', 'GET', `${configMaps}?continue=nonsense`, 400],
    ['a revision that is no number', 'GET', `${configMaps}?resourceVersion=abc`, 400],
    ['a watch from a revision that is no number', 'GET', `${configMaps}?watch=1&resourceVersion=abc`, 500],
    ['a limit that is no number', 'GET', `${configMaps}?limit=many`, 400],
    ['a dry run of another kind', 'POST', `${configMaps}?dryRun=Some`, 422],
    ['an unknown method', 'PROPFIND', configMaps, 405],
    ['a path that is not percent-encoded right', 'GET', '/api/v1/namespaces/%zz/configmaps', 400],
    ['a path that climbs', 'GET', '/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets', 404],
  ])('%s', async (_, method, path, status) => {
    const answer = await send(
      method,
      path,
      method === 'POST' ? json : undefined,
      method === 'POST' ? configMap('never') : undefined,
    )
    expect({ status: answer.status, message: answer.body.message ?? '' }).toEqual({
      status,
      message: expect.stringMatching(/\S/) as string,
    })
    await goesOn()
  })

  test.each([
    ['no token', {}, 403],
    ['an unknown token', { Authorization: 'Bearer unknown' }, 401],
    ['an empty token, which counts as none', { Authorization: 'Bearer ' }, 403],
    [
      'a forged service account token',
      { Authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ.' },
      401,
    ],
    [
      'impersonation without the right to impersonate',
      { Authorization: 'Bearer unknown', 'Impersonate-User': 'admin' },
      401,
    ],
  ])('%s', async (_, headers, status) => {
    const answer = await new Promise<number>((resolve, reject) => {
      request({ host: listening.host, port: listening.port, agent, path: configMaps, headers }, (response) =>
        resolve(response.resume().statusCode ?? 0),
      )
        .on('error', reject)
        .end()
    })
    expect(answer).toBe(status)
  })

  test('headers over 1 MiB are refused with 431', async () => {
    const response = await new Promise<string>((resolve, reject) => {
      const socket = connectTls({ host: listening.host, port: listening.port, ca: listening.certificateAuthority })
      let received = ''
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
      // The server closes the connection while the rest of the headers is still being written.
      socket.on('error', () => {})
      socket.once('close', () => resolve(received))
      socket.once('secureConnect', () => {
        socket.write(`GET ${configMaps} HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(1_100_000)}\r\n\r\n`)
      })
      socket.setTimeout(patience, () => reject(new Error('The connection stays open')))
    })
    expect(response).toMatch(/^HTTP\/1\.1 431 /)
    await goesOn()
  })
})

describe('connections', () => {
  test('garbage instead of HTTP closes the connection', async () => {
    const socket = connectTls({ host: listening.host, port: listening.port, ca: listening.certificateAuthority })
    socket.write('\0\x01\x02 not http at all\r\n\r\n')
    socket.on('error', () => {})
    await new Promise((resolve) => socket.resume().once('close', resolve))
    await goesOn()
  })

  test('a client that goes away in the middle of its body leaves nothing behind', async () => {
    const socket = connectTls({ host: listening.host, port: listening.port, ca: listening.certificateAuthority })
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    socket.write(
      `POST ${configMaps} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n${configMap('half').slice(0, 40)}`,
    )
    socket.destroy()
    expect((await send('GET', `${configMaps}/half`)).status).toBe(404)
    await goesOn()
  })

  test('hundreds of watchers that never read do not hold up a writer', async () => {
    const sockets = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const socket = connectTls({ host: listening.host, port: listening.port, ca: listening.certificateAuthority })
        socket.on('error', () => {})
        await new Promise((resolve) => socket.once('secureConnect', resolve))
        socket.pause()
        socket.write(`GET ${configMaps}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`)
        return socket
      }),
    )
    for (let index = 0; index < 50; index++) {
      const answer = await send('POST', configMaps, json, configMap(`watched-${index}`, { a: 'x'.repeat(10_000) }))
      expect(answer.status).toBe(201)
    }
    await goesOn()
    for (const socket of sockets) socket.destroy()
  })
})
