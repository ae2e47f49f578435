// A real API server of the binaries that KUBE_APISERVER, ETCD and KUBE_CONTROLLER_MANAGER name, in a temporary folder,
// with an aggregation layer, webhooks and service accounts. Start with RealCluster.start.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { kubeconfigText } from '@fairlead/apiserver'
import { TestAuthority } from '../../foundation/apiserver/test/support/front-proxy.ts'
import { freePort } from './free-port.ts'

const { KUBE_APISERVER: apiServer = '', ETCD: etcd = '', KUBE_CONTROLLER_MANAGER: controllerManager = '' } = process.env

/** The reason why there is no real cluster; undefined when there is one. */
export const missingBinaries: string | undefined =
  existsSync(apiServer) && existsSync(etcd) ? undefined : 'KUBE_APISERVER and ETCD name no binaries'

const readyMs = 120_000
const controllers = 'namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller'

/** Options of a real cluster. */
export interface RealClusterOptions {
  /** Runs the controllers of namespaces, garbage and aggregated roles, too. */
  readonly controllers?: boolean
  /** Connects to the EndpointSlices of Services instead of their cluster IPs, as there is no kube-proxy. */
  readonly endpointRouting?: boolean
}

/** A running cluster. */
export class RealCluster implements AsyncDisposable {
  readonly port: number
  /** PEM of what its certificate is signed by. */
  readonly ca: string
  /** Of an administrator. */
  readonly kubeconfig: string
  /** The audit log: who sent what, level Metadata, without reads. */
  readonly auditLog: string
  readonly #stop: () => Promise<void>

  private constructor(fields: Pick<RealCluster, 'port' | 'ca' | 'kubeconfig' | 'auditLog'>, stop: () => Promise<void>) {
    this.port = fields.port
    this.ca = fields.ca
    this.kubeconfig = fields.kubeconfig
    this.auditLog = fields.auditLog
    this.#stop = stop
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`
  }

  /** Resolves when the server is ready. Throws with the end of its log when it is not in time. */
  static async start(options: RealClusterOptions = {}): Promise<RealCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-cluster-'))
    const file = (name: string): string => join(folder, name)
    const processes: ChildProcess[] = []
    const logs: string[] = []
    const run = (binary: string, args: readonly string[]): ChildProcess => {
      const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] })
      child.stderr.on('data', (chunk: Buffer) => {
        if (binary === apiServer) logs.push(chunk.toString())
        if (logs.length > 200) logs.shift()
      })
      processes.push(child)
      return child
    }
    let isStopping = false
    const stop = async (): Promise<void> => {
      isStopping = true
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
    writeFileSync(
      file('audit.yaml'),
      JSON.stringify({
        apiVersion: 'audit.k8s.io/v1',
        kind: 'Policy',
        omitStages: ['RequestReceived'],
        rules: [{ level: 'None', verbs: ['get', 'list', 'watch'] }, { level: 'Metadata' }],
      }),
    )
    run(etcd, [
      `--data-dir=${file('etcd')}`,
      `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
      `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
      '--unsafe-no-fsync',
    ])
    const serving = run(apiServer, [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${file('certificates')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--authorization-mode=RBAC',
      `--audit-policy-file=${file('audit.yaml')}`,
      `--audit-log-path=${file('audit.log')}`,
      `--enable-aggregator-routing=${options.endpointRouting === true}`,
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
    serving.once('exit', (code, signal) => {
      if (!isStopping) console.error(`The API server ended with ${code ?? signal}:\n${logs.join('').slice(-3000)}`)
    })
    const deadline = performance.now() + readyMs
    while (!(await isReady(port))) {
      if (performance.now() > deadline || serving.exitCode !== null) {
        await stop()
        throw new Error(`The API server was not ready in time:\n${logs.join('').slice(-3000)}`)
      }
      await delay(200)
    }
    const ca = readFileSync(join(file('certificates'), 'apiserver.crt'), 'utf8')
    const user = { name: 'administrator', certificate: clients.client('administrator', 'system:masters') }
    const kubeconfig = kubeconfigText({ name: 'real', server: `https://127.0.0.1:${port}`, ca, user })
    if (options.controllers === true && existsSync(controllerManager)) {
      writeFileSync(file('kubeconfig'), kubeconfig)
      run(controllerManager, [
        `--kubeconfig=${file('kubeconfig')}`,
        `--controllers=${controllers}`,
        '--leader-elect=false',
        '--secure-port=0',
      ])
    }
    return new RealCluster({ port, ca, kubeconfig, auditLog: file('audit.log') }, stop)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop()
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    }).on('error', () => resolve(false))
  })
}
