// The real API server beside ours, where KUBE_APISERVER and ETCD name its binaries: on an etcd of its own that waits
// for the disk, as ours does.
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { ServerProcess, end } from './server-process.ts'

const token = 'bench'
const readyWithinMs = 120_000

/** The binaries that the environment names; undefined when one of the two is missing. */
export interface PeerBinaries {
  readonly apiServer: string
  readonly etcd: string
}

export function peerBinaries(): PeerBinaries | undefined {
  const { KUBE_APISERVER: apiServer = '', ETCD: etcd = '' } = process.env
  return existsSync(apiServer) && existsSync(etcd) ? { apiServer, etcd } : undefined
}

/** Starts etcd and the API server on an empty folder. */
export async function startPeer({ apiServer, etcd }: PeerBinaries): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  const file = (name: string): string => join(folder, name)
  const [clientPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }))
  writeFileSync(file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(file('tokens.csv'), `${token},bench,bench,system:masters\n`)
  const begin = performance.now()
  const store = spawn(
    etcd,
    [
      `--data-dir=${file('etcd')}`,
      `--listen-client-urls=http://127.0.0.1:${clientPort}`,
      `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    ],
    { stdio: 'ignore' },
  )
  const server = spawn(
    apiServer,
    [
      `--etcd-servers=http://127.0.0.1:${clientPort}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${file('certificates')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--authorization-mode=RBAC',
      `--token-auth-file=${file('tokens.csv')}`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${file('sa.pub')}`,
      `--service-account-signing-key-file=${file('sa.key')}`,
    ],
    { stdio: 'ignore' },
  )
  const processes = [server, store]
  try {
    while (!(await isOpen(port))) {
      if (performance.now() - begin > readyWithinMs || server.exitCode !== null)
        throw new Error('the peer did not open its port')
      await delay(10)
    }
    const ca = readFileSync(join(file('certificates'), 'apiserver.crt'), 'utf8')
    const target = { port, context: createSecureContext({ ca }), token, servername: 'kubernetes.default.svc' }
    const started = await ServerProcess.over({ processes, target, folder, begin })
    // Made by a controller of the server, some time after it is ready.
    while (!(await succeeds(() => started.send('GET', '/api/v1/namespaces/default')))) await delay(50)
    return started
  } catch (error) {
    await end({ processes, folder })
    throw error
  }
}

async function succeeds(attempt: () => Promise<unknown>): Promise<boolean> {
  return attempt().then(
    () => true,
    () => false,
  )
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}
