// A real API server to record from: the binaries that KUBE_APISERVER and ETCD name, and KUBE_CONTROLLER_MANAGER where
// there is one, in a temporary folder. Flags and users are those of shared/kubernetes/README.md "recordings".
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get as httpsGet } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { kubeconfigFor, tokens, users } from '../replay/server.ts'
import type { ReplayServer } from '../replay/server.ts'
import { freePort } from '../../support/free-port.ts'

const readyMs = 120_000
const controllers = 'namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller'

/** Names of binaries to run; `controllerManager` may be missing: then nothing collects garbage. */
export interface Binaries {
  readonly apiServer: string
  readonly etcd: string
  readonly controllerManager?: string
}

/** The binaries that the environment names, or undefined when API server or etcd are missing. */
export function binariesOfEnvironment(): Binaries | undefined {
  const named = (name: string): string | undefined => {
    const path = process.env[name]
    return path !== undefined && existsSync(path) ? path : undefined
  }
  const apiServer = named('KUBE_APISERVER')
  const etcd = named('ETCD')
  const controllerManager = named('KUBE_CONTROLLER_MANAGER')
  if (apiServer === undefined || etcd === undefined) return undefined
  return { apiServer, etcd, ...(controllerManager ? { controllerManager } : {}) }
}

/**
 * Starts the processes and resolves when the server is ready. Throws with the end of its log when it is not in time.
 */
export async function startCluster(binaries: Binaries): Promise<ReplayServer> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-record-'))
  const file = (name: string): string => join(folder, name)
  const processes: ChildProcess[] = []
  const run = (name: string, binary: string, args: readonly string[]): void => {
    const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const log = createWriteStream(file(`${name}.log`))
    child.stdout.pipe(log, { end: false })
    child.stderr.pipe(log, { end: false })
    processes.push(child)
  }
  const stop = async (): Promise<void> => {
    for (const child of processes.toReversed()) {
      if (child.exitCode !== null) continue
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await Promise.race([ended, delay(3000).then(() => child.kill('SIGKILL'))])
    }
    rmSync(folder, { recursive: true, force: true })
  }

  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }))
  writeFileSync(file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(
    file('tokens.csv'),
    users.map(({ token, user }) => `${token},${user.name},${user.uid},"${(user.groups ?? []).join(',')}"\n`).join(''),
  )
  run('etcd', binaries.etcd, [
    `--data-dir=${file('etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
    `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    '--unsafe-no-fsync',
  ])
  run('apiserver', binaries.apiServer, [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${file('certificates')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    `--token-auth-file=${file('tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${file('sa.pub')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
    '--disable-admission-plugins=ServiceAccount',
    '--allow-privileged=true',
  ])
  try {
    await ready(port, file('apiserver.log'))
  } catch (error) {
    await stop()
    throw error
  }
  const ca = readFileSync(join(file('certificates'), 'apiserver.crt'), 'utf8')
  const kubeconfig = kubeconfigFor(port, ca, 'token-admin')
  if (binaries.controllerManager) {
    writeFileSync(file('kubeconfig'), kubeconfig)
    run('controllers', binaries.controllerManager, [
      `--kubeconfig=${file('kubeconfig')}`,
      `--controllers=${controllers}`,
      '--leader-elect=false',
      '--secure-port=0',
      '--namespace-sync-period=2s',
    ])
    await delay(3000)
  }
  const agent = new Agent({ keepAlive: true, ca, checkServerIdentity: () => undefined })
  return {
    target: { host: '127.0.0.1', port, agent, tokens },
    kubeconfig,
    compact: () => compact(etcdPort),
    async stop() {
      agent.destroy()
      await stop()
    },
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    httpsGet({ host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    }).on('error', () => resolve(false))
  })
}

async function ready(port: number, log: string): Promise<void> {
  const deadline = performance.now() + readyMs
  while (!(await isReady(port))) {
    if (performance.now() > deadline)
      throw new Error(`The API server was not ready in ${readyMs / 1000} s:\n${readFileSync(log, 'utf8').slice(-2000)}`)
    await delay(200)
  }
}

/** Makes etcd forget every version older than now. */
async function compact(port: number): Promise<void> {
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return (await answer.json()) as Record<string, unknown>
  }
  const { header } = await post('/v3/kv/range', { key: Buffer.from('/').toString('base64') })
  await post('/v3/kv/compaction', { revision: (header as { revision: string }).revision, physical: true })
}
