// `fairlead envtest use`, and a control plane of its folder, started as controller-runtime starts one: with its flags,
// and certificates, client authority and token keys of the test environment.
import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import type { RequestOptions } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  caCertificate,
  clientCertificate,
  clientKey,
  serverCertificate,
  serverKey,
} from '../../../../test/support/certificates.ts'
import { eventually } from '../../../../test/support/until.ts'
import { fairlead, withFolder } from '../support/command.ts'

interface Answer {
  readonly status: number
  readonly text: string
}

async function ask(
  port: number,
  path: string,
  options: RequestOptions & { readonly send?: object } = {},
): Promise<Answer> {
  const { send, ...rest } = options
  const headers = { ...(rest.headers as object), ...(send && { 'content-type': 'application/json' }) }
  const method = send === undefined ? 'GET' : 'POST'
  const asked = request({ host: '127.0.0.1', port, path, method, ca: caCertificate, agent: false, ...rest, headers })
  asked.end(send && JSON.stringify(send))
  const [response] = await once(asked, 'response')
  let text = ''
  for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString()
  return { status: response.statusCode, text }
}

/** A free port, as test environments choose one before they start the program. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

test('the folder of envtest use starts a control plane with the flags of controller-runtime', () =>
  withFolder(async (folder) => {
    const used = await fairlead(['envtest', 'use', '-p', 'path', '--bin-dir', folder])
    const assets = used.stdout
    expect(used.code).toBe(0)
    expect(assets).toMatch(new RegExp(`^${folder}/1\\.35\\.\\d+-\\w+-\\w+$`))
    // The help must not name flags of old versions at the beginning of a line: their presence changes what is passed.
    const help = execFileSync(join(assets, 'kube-apiserver'), ['--help'], { encoding: 'utf8' })
    expect(help).not.toMatch(/^\s*--insecure-port\b/m)

    const certificates = join(folder, 'certs')
    mkdirSync(certificates)
    const write = (name: string, text: string | Buffer): string => {
      writeFileSync(join(certificates, name), text)
      return join(certificates, name)
    }
    write('apiserver.crt', serverCertificate)
    write('apiserver.key', serverKey)
    const signer = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    })
    const [port, etcdPort] = [await freePort(), await freePort()]
    const issuer = `https://127.0.0.1:${port}/`
    const child = spawn(
      join(assets, 'kube-apiserver'),
      [
        '--allow-privileged=true',
        '--authorization-mode=RBAC',
        '--bind-address=127.0.0.1',
        `--cert-dir=${certificates}`,
        `--client-ca-file=${write('client-ca.crt', caCertificate)}`,
        '--disable-admission-plugins=ServiceAccount',
        `--etcd-servers=http://127.0.0.1:${etcdPort}`,
        '-secure-port',
        String(port),
        `--service-account-issuer=${issuer}`,
        `--service-account-key-file=${write('sa-signer.crt', signer.publicKey)}`,
        `--service-account-signing-key-file=${write('sa-signer.key', signer.privateKey)}`,
        '--service-cluster-ip-range=10.0.0.0/24',
        `--token-auth-file=${write('tokens.csv', 'secret,root,1,"system:masters,ops"\n')}`,
        '--frobnicate',
        '3',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    const etcd = spawn(join(assets, 'etcd'), [
      `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
      '--data-dir',
      folder,
    ])
    let errors = ''
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
    const ended = Promise.all([once(child, 'exit'), once(etcd, 'exit')])
    try {
      expect(await eventually(() => ask(port, '/healthz'))).toEqual({ status: 200, text: 'ok' })
      const health = await eventually(() => fetch(`http://127.0.0.1:${etcdPort}/health`))
      expect(await health.json()).toMatchObject({ health: 'true' })

      // Who one is: by the client authority, and by the token file.
      const asAlice = { cert: clientCertificate, key: clientKey }
      expect(await ask(port, '/api/v1/namespaces', asAlice)).toMatchObject({
        status: 403,
        text: expect.stringContaining('User \\"alice\\" cannot list') as string,
      })
      const root = { headers: { authorization: 'Bearer secret' } }
      // No controller manager: a new namespace has no service account until someone makes one.
      const accounts = '/api/v1/namespaces/default/serviceaccounts'
      expect(JSON.parse((await ask(port, accounts, root)).text)).toMatchObject({ items: [] })
      expect((await ask(port, accounts, { ...root, send: { metadata: { name: 'robot' } } })).status).toBe(201)
      const token = await ask(port, `${accounts}/robot/token`, {
        ...root,
        send: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
      })
      const bearer = (JSON.parse(token.text) as { status: { token: string } }).status.token
      const [header, claims] = bearer.split('.').map((part) => Buffer.from(part, 'base64url').toString())
      expect([header, claims]).toEqual([
        expect.stringContaining('"RS256"'),
        expect.stringContaining(`"iss":"${issuer}"`),
      ])
      const asRobot = { headers: { authorization: `Bearer ${bearer}` } }
      expect((await ask(port, '/api/v1/namespaces', asRobot)).text).toContain('system:serviceaccount:default:robot')
    } finally {
      child.kill('SIGTERM')
      etcd.kill('SIGTERM')
    }
    expect((await ended).map(([code]) => code as number)).toEqual([0, 0])
    expect(errors).toBe(
      `fairlead-apiserver: --frobnicate is ignored\nfairlead-apiserver: Serving Kubernetes v1.35.4+fairlead at https://127.0.0.1:${port}\n`,
    )
  }))

test.each([
  [['1.30.x'], /^fairlead: Kubernetes 1\.30\.x is not there: this server is 1\.35\.\d+; leave the version out\n$/],
  [['-p', 'json'], /^fairlead: --print json: write path, env or overview\n$/],
])('envtest use %j is refused', async (args, stderr) => {
  const ended = await fairlead(['envtest', 'use', ...args])
  expect(ended).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(stderr) as string })
})

test('apiserver writes a kubeconfig and keeps objects in a data folder; programs of envtest end with their parent', () =>
  withFolder(async (folder) => {
    const kubeconfig = join(folder, 'kubeconfig')
    const flags = ['--secure-port=0', '--data', join(folder, 'data'), '--write-kubeconfig', kubeconfig]
    const assets = (await fairlead(['envtest', 'use', '-p', 'path', '--bin-dir', folder])).stdout
    const { launcher } = await import('../../../../test/support/launcher.ts')
    const { connect } = await import('@fairlead/client')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kept' } }
    const suite = '"$0/etcd" --listen-client-urls=http://127.0.0.1:0 & "$0/kube-apiserver" "$@" & wait'
    for (const [step, command, args, signal] of [
      ['create', process.execPath, [launcher, 'apiserver', ...flags], 'SIGTERM'],
      ['read', 'sh', ['-c', suite, assets, ...flags], 'SIGKILL'],
    ] as const) {
      const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
      // Comes when no process has the standard error open any more.
      const closed = once(child, 'close')
      try {
        for await (const chunk of child.stderr.iterator({ destroyOnReturn: false }))
          if (String(chunk).includes('Serving')) break
        child.stderr.resume()
        const client = await connect({ file: kubeconfig })
        if (step === 'create') await client.create(namespace)
        expect(await client.get(namespace, 'kept')).toMatchObject(namespace)
        await client.transport[Symbol.asyncDispose]()
      } finally {
        child.kill(signal)
      }
      expect(await closed).toEqual(step === 'create' ? [0, null] : [null, 'SIGKILL'])
    }
    expect(readFileSync(kubeconfig, 'utf8')).toContain('client-key-data')
  }))
