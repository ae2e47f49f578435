// Credentials that are fetched: exec plugins with a local script, OIDC with a local provider.
import { lstat, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { HttpsTransport, loadKubeconfig, parseKubeconfig } from '@fairlead/client'
import type { ApiResponse } from '@fairlead/client'
import { FakeClock, stringifyYaml } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fairlead-login-'))
})
afterAll(() => rm(folder, { recursive: true }))

interface Answered {
  readonly code: number
  readonly body: object
}

/** A server that writes down what it was sent. */
async function listening(answer: (asked: Asked) => Answered): Promise<Listening> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      const one = { path: request.url ?? '', authorization: request.headers.authorization, body }
      asked.push(one)
      const { code, body: text } = answer(one)
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(text))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Asked {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: string
}

interface Listening extends AsyncDisposable {
  readonly asked: Asked[]
  readonly url: string
}

async function transportOf(server: string, user: object, clock: FakeClock, cluster = {}): Promise<HttpsTransport> {
  const config = {
    'current-context': 'one',
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'me' } }],
    clusters: [{ name: 'one', cluster: { server, ...cluster } }],
    users: [{ name: 'me', user }],
  }
  const connection = await parseKubeconfig(stringifyYaml(config), path.join(folder, 'config')).connection()
  return new HttpsTransport(connection, { clock })
}

const get = (transport: HttpsTransport): Promise<ApiResponse> => transport.request({ method: 'GET', path: '/api' })

/** A plugin that counts its runs in a file, prints what the environment says, and keeps what it was told. */
async function plugin(name: string): Promise<string> {
  const script = path.join(folder, `${name}.cjs`)
  await writeFile(
    script,
    `const fs = require('node:fs')
const file = ${JSON.stringify(path.join(folder, `${name}.runs`))}
const runs = fs.existsSync(file) ? Number(fs.readFileSync(file, 'utf8')) + 1 : 1
fs.writeFileSync(file, String(runs))
fs.writeFileSync(file + '.info', process.env.KUBERNETES_EXEC_INFO)
process.stdout.write(process.env.PRINT.replace('RUN', runs))
process.exit(Number(process.env.CODE ?? 0))
`,
  )
  return script
}

const version = 'client.authentication.k8s.io/v1'

function credential(status: object): string {
  return JSON.stringify({ apiVersion: version, kind: 'ExecCredential', status })
}

async function execUser(name: string, print: string, more: object = {}): Promise<object> {
  const exec = {
    apiVersion: version,
    command: process.execPath,
    args: [await plugin(name)],
    env: [{ name: 'PRINT', value: print }],
    interactiveMode: 'Never',
  }
  return { exec: { ...exec, ...more } }
}

const runsOf = async (name: string): Promise<number> =>
  Number(await readFile(path.join(folder, `${name}.runs`), 'utf8'))

describe('an exec plugin', () => {
  test('is run once for many requests, and again when its token has expired', async () => {
    const clock = new FakeClock('2026-01-01T00:00:00Z')
    await using server = await listening(() => ({ code: 200, body: {} }))
    const print = credential({ token: 'token-RUN', expirationTimestamp: '2026-01-01T00:10:00Z' })
    await using transport = await transportOf(server.url, await execUser('expires', print), clock)
    await Promise.all([get(transport), get(transport)])
    await clock.advance(9 * 60_000)
    await get(transport)
    expect(await runsOf('expires')).toBe(1)
    await clock.advance(60_000)
    await get(transport)
    expect(server.asked.map(({ authorization }) => authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-1',
      'Bearer token-1',
      'Bearer token-2',
    ])
  })

  test('is run again when the server refuses its token, and the request is sent again', async () => {
    await using server = await listening(({ authorization }) => ({
      code: authorization === 'Bearer token-2' ? 200 : 401,
      body: {},
    }))
    const user = await execUser('refused', credential({ token: 'token-RUN' }))
    await using transport = await transportOf(server.url, user, new FakeClock())
    expect((await get(transport)).status).toBe(200)
    expect(await runsOf('refused')).toBe(2)
  })

  test('is run once more, not more often, when its token stays refused', async () => {
    await using server = await listening(() => ({ code: 401, body: {} }))
    const user = await execUser('useless', credential({ token: 'token-RUN' }))
    await using transport = await transportOf(server.url, user, new FakeClock())
    expect((await get(transport)).status).toBe(401)
    expect(server.asked.length).toBe(2)
  })

  test('receives the cluster with provideClusterInfo', async () => {
    await using server = await listening(() => ({ code: 200, body: {} }))
    const user = await execUser('informed', credential({ token: 't' }), { provideClusterInfo: true })
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'here' } }]
    await using transport = await transportOf(server.url, user, new FakeClock(), { extensions })
    await get(transport)
    expect(JSON.parse(await readFile(path.join(folder, 'informed.runs.info'), 'utf8'))).toEqual({
      apiVersion: version,
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: server.url, config: { audience: 'here' } } },
    })
  })

  const gives = (why: string): RegExp => new RegExp(`gave no credentials: ${why}`)
  test.each([
    ['prints no JSON', 'hello', {}, gives('it printed no JSON')],
    ['prints something else', '{"kind":"Pod"}', {}, gives('it printed no ExecCredential of client')],
    ['prints nothing to show', credential({}), {}, gives('it printed neither a token nor a client certificate')],
    ['prints half a certificate', credential({ clientKeyData: 'x' }), {}, gives('.* without its certificate')],
    [
      'is not installed',
      '',
      { command: 'no-such-plugin', installHint: 'Get it here' },
      gives('it is not installed\nGet it here'),
    ],
    ['wants to ask questions', '', { interactiveMode: 'Always' }, gives('it wants to ask questions')],
    [
      'fails',
      '',
      {
        env: [
          { name: 'PRINT', value: '' },
          { name: 'CODE', value: '3' },
        ],
      },
      gives('it ended with 3'),
    ],
  ])('that %s gives an error that says so', async (what, print, more, message) => {
    const user = await execUser(what.replaceAll(' ', '-'), print, more)
    await using transport = await transportOf('http://127.0.0.1:1', user, new FakeClock())
    const error: unknown = await get(transport).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'CredentialsFailed', remote: true })
    expect((error as Error).message).toMatch(message)
  })

  test.each([
    ['no command', { apiVersion: version }, 'user "me": exec has no command'],
    ['an old version', { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' }, 'v1alpha1; there are'],
    ['no mode in the newer version', { apiVersion: version, command: 'x' }, 'exec has no interactiveMode'],
    ['a strange mode', { apiVersion: version, command: 'x', interactiveMode: 'Maybe' }, 'interactiveMode "Maybe"'],
  ])('with %s makes no sense', async (_, exec, message) => {
    await expect(transportOf('http://127.0.0.1:1', { exec }, new FakeClock())).rejects.toThrow(message)
  })
})

describe('OpenID Connect', () => {
  const start = '2026-01-01T00:00:00Z'
  const idToken = (name: string, minutes: number): string => {
    const payload = { name, exp: Date.parse(start) / 1000 + minutes * 60 }
    return `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.c2ln`
  }

  /** An identity provider whose refresh tokens rotate: each is good once. */
  function provider(methods?: string[]): Promise<Listening> {
    let next = 1
    let base = ''
    return listening(({ path: at, body }) => {
      if (at === '/.well-known/openid-configuration')
        return {
          code: 200,
          body: { token_endpoint: `${base}/token`, ...(methods && { token_endpoint_auth_methods_supported: methods }) },
        }
      const form = new URLSearchParams(body)
      if (form.get('refresh_token') !== `refresh-${next}`)
        return { code: 400, body: { error: 'invalid_grant', error_description: 'the refresh token is used up' } }
      next++
      return { code: 200, body: { id_token: idToken(`id-${next}`, next * 10), refresh_token: `refresh-${next}` } }
    }).then((server) => {
      base = server.url
      return server
    })
  }

  const userOf = (issuer: string, more: Record<string, string>): object => ({
    'auth-provider': { name: 'oidc', config: { 'idp-issuer-url': issuer, 'client-id': 'me', ...more } },
  })

  test('sends the id token, and a refreshed one when it expires', async () => {
    const clock = new FakeClock(start)
    await using idp = await provider()
    await using server = await listening(() => ({ code: 200, body: {} }))
    const user = userOf(idp.url, {
      'id-token': idToken('id-1', 10),
      'refresh-token': 'refresh-1',
      'client-secret': 's',
    })
    await using transport = await transportOf(server.url, user, clock)
    await get(transport)
    expect(idp.asked).toEqual([])
    for (let refresh = 0; refresh < 2; refresh++) {
      await clock.advance(9.95 * 60_000)
      await get(transport)
    }
    expect(server.asked.map(({ authorization }) => authorization)).toEqual([
      `Bearer ${idToken('id-1', 10)}`,
      `Bearer ${idToken('id-2', 20)}`,
      `Bearer ${idToken('id-3', 30)}`,
    ])
    expect(idp.asked.map(({ path: at }) => at)).toEqual(['/.well-known/openid-configuration', '/token', '/token'])
    expect(idp.asked[1]).toEqual({
      path: '/token',
      authorization: `Basic ${Buffer.from('me:s').toString('base64')}`,
      body: 'grant_type=refresh_token&refresh_token=refresh-1',
    })
  })

  test('sends the client secret in the request body', async () => {
    await using idp = await provider(['client_secret_post'])
    await using server = await listening(() => ({ code: 200, body: {} }))
    const user = userOf(idp.url, { 'refresh-token': 'refresh-1', 'client-secret': 's' })
    await using transport = await transportOf(server.url, user, new FakeClock(start))
    await get(transport)
    expect(idp.asked[1]).toEqual({
      path: '/token',
      authorization: undefined,
      body: 'grant_type=refresh_token&refresh_token=refresh-1&client_id=me&client_secret=s',
    })
  })

  describe('in a kubeconfig file', () => {
    /** A file with comments and other users, as people have them. */
    async function fileFor(name: string, server: string, issuer: string): Promise<string> {
      const file = path.join(folder, name)
      await writeFile(
        file,
        `# mine
current-context: one
contexts: [{name: one, context: {cluster: one, user: me}}]
clusters:
- {name: one, cluster: {server: "${server}"}}
users:
- name: other
  user: {token: theirs}
- name: me
  user:
    auth-provider:
      name: oidc # as ever
      config:
        idp-issuer-url: ${issuer}
        client-id: me
        refresh-token: refresh-1
`,
        { mode: 0o640 },
      )
      return file
    }
    const opened = async (file: string, clock: FakeClock): Promise<HttpsTransport> =>
      new HttpsTransport(await (await loadKubeconfig({ file })).connection(), { clock })
    const shown = (server: Listening): (string | undefined)[] => server.asked.map(({ authorization }) => authorization)

    test('new tokens are written back, and nothing else is changed', async () => {
      const clock = new FakeClock(start)
      await using idp = await provider()
      await using server = await listening(() => ({ code: 200, body: {} }))
      const file = await fileFor('back', server.url, idp.url)
      const link = path.join(folder, 'back-link')
      await symlink(file, link)
      const before = await readFile(file, 'utf8')
      await using transport = await opened(link, clock)
      await get(transport)
      expect(await readFile(file, 'utf8')).toBe(
        before
          .replace('refresh-token: refresh-1', 'refresh-token: "refresh-2"')
          .replace('idp-issuer-url:', `"id-token": "${idToken('id-2', 20)}"\n        idp-issuer-url:`),
      )
      expect([(await stat(file)).mode & 0o777, (await lstat(link)).isSymbolicLink()]).toEqual([0o640, true])
      expect((await readdir(folder)).filter((name) => name.startsWith('back'))).toEqual(['back', 'back-link'])
    })

    test('tokens of another process are used, before and after a refresh token was consumed', async () => {
      const clock = new FakeClock(start)
      await using idp = await provider()
      await using server = await listening(() => ({ code: 200, body: {} }))
      const file = await fileFor('shared', server.url, idp.url)
      await using first = await opened(file, clock)
      await using second = await opened(file, clock)
      await get(first)
      await get(second)
      await clock.advance(19.95 * 60_000)
      await get(second)
      await get(first)
      expect(shown(server)).toEqual(
        ['id-2', 'id-2', 'id-3', 'id-3'].map((name) => `Bearer ${idToken(name, Number(name.at(-1)) * 10)}`),
      )
      expect(idp.asked.filter(({ path: at }) => at === '/token').length).toBe(2)
    })

    test('waits for kubectl’s lock; where the file cannot be locked, the tokens stay in this process', async () => {
      const clock = new FakeClock(start)
      await using idp = await provider()
      await using server = await listening(() => ({ code: 200, body: {} }))
      const file = await fileFor('locked', server.url, idp.url)
      const before = await readFile(file, 'utf8')
      await writeFile(`${file}.lock`, '')
      await using transport = await opened(file, clock)
      const getting = get(transport)
      let isDone = false
      void getting.then(() => (isDone = true))
      await expect.poll(() => clock.advance(100).then(() => isDone), { interval: 1 }).toBe(true)
      expect(await readFile(file, 'utf8')).toBe(before)
      await rm(`${file}.lock`)
      await clock.advance(19.95 * 60_000)
      await get(transport)
      expect(await readFile(file, 'utf8')).toContain('refresh-token: "refresh-3"')
      expect(shown(server)).toEqual([`Bearer ${idToken('id-2', 20)}`, `Bearer ${idToken('id-3', 30)}`])
    })
  })

  test.each([
    ['without a refresh token', {}, 'there is no refresh token; log in again'],
    ['with one that is used up', { 'refresh-token': 'refresh-0' }, 'answered 400: the refresh token is used up'],
  ])('%s fails and says what to do', async (_, more, message) => {
    await using idp = await provider()
    const user = userOf(idp.url, { 'id-token': idToken('id-1', -1), ...more })
    await using transport = await transportOf('http://127.0.0.1:1', user, new FakeClock(start))
    await expect(get(transport)).rejects.toThrow(message)
  })
})
