// Clusters that can have APIServices: our embedded server, and the real one of KUBE_APISERVER and ETCD with an
// aggregation layer.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiServer, kubeconfigText } from '@fairlead/apiserver'
import { TestAuthority } from './front-proxy.ts'
import { freePort } from '../../../../test/support/free-port.ts'

/** A cluster over HTTPS. */
export interface AggregatingCluster extends AsyncDisposable {
  readonly port: number
  /** PEM of what its certificate is signed by. */
  readonly ca: string
  /** Of an administrator. */
  readonly kubeconfig: string
}

/** A kind of cluster and the function that starts it. */
export interface ClusterChoice {
  readonly name: string
  /** Why it cannot be had. */
  readonly missing?: string
  open(): Promise<AggregatingCluster>
}

const { KUBE_APISERVER: apiServer = '', ETCD: etcd = '' } = process.env
const isThere = existsSync(apiServer) && existsSync(etcd)

export const aggregatingClusters: readonly ClusterChoice[] = [
  { name: 'the embedded server', open: openEmbedded },
  {
    name: 'a real kube-apiserver',
    ...(isThere ? {} : { missing: 'KUBE_APISERVER and ETCD name no binaries' }),
    open: openReal,
  },
]

async function openEmbedded(): Promise<AggregatingCluster> {
  const server = await ApiServer.start({ authorization: 'RBAC' })
  const { port, certificateAuthority, kubeconfig } = await server.listen()
  return {
    port,
    ca: certificateAuthority,
    kubeconfig,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function openReal(): Promise<AggregatingCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-aggregation-'))
  const file = (name: string): string => join(folder, name)
  const processes: ChildProcess[] = []
  const logs: string[] = []
  const run = (binary: string, args: readonly string[]): void => {
    const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.on('data', (chunk: Buffer) => {
      logs.push(chunk.toString())
      if (logs.length > 200) logs.shift()
    })
    processes.push(child)
  }
  const stop = async (): Promise<void> => {
    for (const child of processes.toReversed()) {
      if (child.exitCode !== null) continue
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await Promise.race([ended, delay(5000).then(() => child.kill('SIGKILL'))])
    }
    rmSync(folder, { recursive: true, force: true })
  }
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const [clients, frontProxy] = [await TestAuthority.make('client-ca'), await TestAuthority.make('front-proxy-ca')]
  const proxy = frontProxy.client('front-proxy-client')
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }))
  writeFileSync(file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(file('client-ca.crt'), clients.pair.cert)
  writeFileSync(file('front-proxy-ca.crt'), frontProxy.pair.cert)
  writeFileSync(file('proxy.crt'), proxy.cert)
  writeFileSync(file('proxy.key'), proxy.key)
  run(etcd, [
    `--data-dir=${file('etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
    `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    '--unsafe-no-fsync',
  ])
  run(apiServer, [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${file('certificates')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    `--client-ca-file=${file('client-ca.crt')}`,
    `--requestheader-client-ca-file=${file('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${file('proxy.crt')}`,
    `--proxy-client-key-file=${file('proxy.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${file('sa.pub')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
    '--disable-admission-plugins=ServiceAccount',
  ])
  const deadline = performance.now() + 120_000
  while (!(await isReady(port))) {
    if (performance.now() > deadline) {
      await stop()
      throw new Error(`The API server was not ready in time:\n${logs.join('').slice(-3000)}`)
    }
    await delay(200)
  }
  const ca = readFileSync(join(file('certificates'), 'apiserver.crt'), 'utf8')
  const user = { name: 'administrator', certificate: clients.client('administrator', 'system:masters') }
  return {
    port,
    ca,
    kubeconfig: kubeconfigText({ name: 'real', server: `https://127.0.0.1:${port}`, ca, user }),
    [Symbol.asyncDispose]: stop,
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    }).on('error', () => resolve(false))
  })
}
