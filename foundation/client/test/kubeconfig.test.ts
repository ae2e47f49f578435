import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { ClientError, findConnection, inClusterConnection, loadKubeconfig, parseKubeconfig } from '@fairlead/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fairlead-kubeconfig-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function file(name: string, content: string): Promise<string> {
  const full = path.join(folder, name)
  await mkdir(path.dirname(full), { recursive: true })
  await writeFile(full, content)
  return full
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const config = (user: string, cluster = 'server: https://one.test:6443'): string => `
apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: one, user: me, namespace: team}
- name: bare
  context: {cluster: one}
clusters:
- name: one
  cluster: {${cluster}}
users:
- name: me
  user: ${user}
`

const none = {
  ca: undefined,
  insecure: false,
  proxyUrl: undefined,
  tlsServerName: undefined,
  certificate: undefined,
  key: undefined,
  token: undefined,
  tokenFile: undefined,
  username: undefined,
  password: undefined,
  impersonate: undefined,
  namespace: 'team',
  server: 'https://one.test:6443',
}

describe('kubeconfig', () => {
  test.each<[string, string, Record<string, unknown>]>([
    ['a token', config('{token: abc}'), { token: 'abc' }],
    ['a user name and password', config('{username: u, password: p}'), { username: 'u', password: 'p' }],
    [
      'inline certificates',
      config(
        `{client-certificate-data: ${base64('cert')}, client-key-data: ${base64('key')}}`,
        `server: "https://one.test:6443", certificate-authority-data: ${base64('ca')}`,
      ),
      { certificate: Buffer.from('cert'), key: Buffer.from('key'), ca: Buffer.from('ca') },
    ],
    [
      'what a cluster may say',
      config(
        '{}',
        'server: "https://one.test:6443", tls-server-name: real.test, proxy-url: "http://proxy:3128", insecure-skip-tls-verify: true',
      ),
      { tlsServerName: 'real.test', proxyUrl: 'http://proxy:3128', insecure: true },
    ],
    [
      'impersonation',
      config('{token: abc, as: jane, as-uid: "7", as-groups: [devs], as-user-extra: {scopes: [view]}}'),
      { token: 'abc', impersonate: { user: 'jane', uid: '7', groups: ['devs'], extra: { scopes: ['view'] } } },
    ],
  ])('reads %s', async (_name, text, expected) => {
    expect(await parseKubeconfig(text).connection()).toEqual({ ...none, ...expected })
  })

  test('relative paths are relative to the kubeconfig, and token files are read later', async () => {
    await file('pki/ca.pem', 'the ca')
    await file('pki/cert.pem', 'the cert')
    await file('pki/key.pem', 'the key')
    const main = await file(
      'config',
      config(
        '{client-certificate: pki/cert.pem, client-key: pki/key.pem, tokenFile: pki/token}',
        'server: "https://one.test:6443", certificate-authority: pki/ca.pem',
      ),
    )
    expect(await (await loadKubeconfig({ file: main })).connection()).toEqual({
      ...none,
      ca: Buffer.from('the ca'),
      certificate: Buffer.from('the cert'),
      key: Buffer.from('the key'),
      tokenFile: path.join(folder, 'pki/token'),
    })
  })

  test('a context, cluster, user or namespace can be chosen', async () => {
    const kubeconfig = parseKubeconfig(config('{token: abc}'))
    expect(await kubeconfig.connection({ context: 'bare' })).toEqual({
      server: 'https://one.test:6443',
      insecure: false,
      namespace: 'default',
    })
    expect(await kubeconfig.connection({ context: 'bare', user: 'me', namespace: 'x' })).toEqual({
      ...none,
      token: 'abc',
      namespace: 'x',
    })
  })

  test('the first of several files that has an entry wins, and missing files are skipped', async () => {
    const first = await file('first', 'clusters: [{name: one, cluster: {server: "https://first.test"}}]\n')
    const second = await file('second', config('{token: second}'))
    const env = { KUBECONFIG: [path.join(folder, 'missing'), first, second].join(path.delimiter) }
    const kubeconfig = await loadKubeconfig({ env })
    expect(kubeconfig.files).toEqual([first, second])
    expect(await kubeconfig.connection()).toEqual({ ...none, server: 'https://first.test', token: 'second' })
  })

  test('falls back to the file in the home folder, then to the cluster of the pod', async () => {
    await file('home/.kube/config', config('{token: home}'))
    expect(await findConnection({ env: { HOME: path.join(folder, 'home') } })).toEqual({ ...none, token: 'home' })
    await file('account/ca.crt', 'cluster ca')
    await file('account/namespace', 'mine\n')
    expect(
      await inClusterConnection(
        { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' },
        path.join(folder, 'account'),
      ),
    ).toEqual({
      server: 'https://[fd00::1]:443',
      ca: Buffer.from('cluster ca'),
      tokenFile: path.join(folder, 'account/token'),
      namespace: 'mine',
    })
  })

  test.each<[string, string, { context?: string; user?: string; cluster?: string }, ClientError['code'], string]>([
    [
      'a context that is not there',
      config('{}'),
      { context: 'two' },
      'InvalidKubeconfig',
      'kubeconfig: there is no context "two"; there are one, bare',
    ],
    [
      'a user that is not there',
      config('{}'),
      { user: 'you' },
      'InvalidKubeconfig',
      'kubeconfig: there is no user "you"; there are me',
    ],
    [
      'no context at all',
      'kind: Config\n',
      {},
      'InvalidKubeconfig',
      'kubeconfig: there is no kubeconfig with a cluster; set KUBECONFIG to the path of one, or name it where you connect',
    ],
    [
      'clusters without a current context',
      'clusters: [{name: one, cluster: {server: "https://one.test"}}]',
      {},
      'InvalidKubeconfig',
      'kubeconfig: no current-context is set; run `kubectl config use-context NAME` or name a context',
    ],
    [
      'a certificate without its key',
      config(`{client-certificate-data: ${base64('c')}}`),
      {},
      'InvalidKubeconfig',
      'kubeconfig: user "me" has a client certificate without its key',
    ],
    [
      'a server that is no URL',
      config('{}', 'server: "one.test:6443"'),
      {},
      'InvalidKubeconfig',
      'kubeconfig: cluster "one" has server "one.test:6443", which is not an http or https URL',
    ],
    [
      'a proxy of another kind',
      config('{}', 'server: "https://one.test", proxy-url: "ftp://p"'),
      {},
      'InvalidKubeconfig',
      'kubeconfig: cluster "one" has proxy-url ftp://p, which is not an http, https or socks5 URL',
    ],
    [
      'trust and no trust',
      config(
        '{}',
        `server: "https://one.test", insecure-skip-tls-verify: true, certificate-authority-data: ${base64('ca')}`,
      ),
      {},
      'InvalidKubeconfig',
      'kubeconfig: cluster "one" has both a certificate authority and insecure-skip-tls-verify; remove one of them',
    ],
    [
      'a login that nothing speaks any more',
      config('{auth-provider: {name: gcp}}'),
      {},
      'UnsupportedCredentials',
      'kubeconfig: user "me" logs in by auth-provider gcp, which kubectl no longer supports; use its login plugin (exec)',
    ],
    ['another kind of file', 'kind: Pod\n', {}, 'InvalidKubeconfig', 'kubeconfig: its kind is "Pod", not Config'],
  ])('refuses %s', async (_name, text, choice, code, message) => {
    const failure = await Promise.resolve()
      .then(() => parseKubeconfig(text).connection(choice))
      .catch((error: unknown) => error as ClientError)
    expect(failure).toBeInstanceOf(ClientError)
    expect([(failure as ClientError).code, (failure as ClientError).message]).toEqual([code, message])
  })
})
