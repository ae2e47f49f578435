// The real Porch beside ours: `PORCH_SERVER` names its program. It runs in its own debug mode, which checks no
// rights, with our API server for Repositories and PackageRevs.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, sqlite } from '@fairlead/apiserver'
import { Client, HttpsTransport, systemClock } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import { PackageRevisionKind, packages } from '@fairlead/packages'
import { freePort } from '../../test/support/free-port.ts'
import { PackageClient } from './package-client.ts'

/** The program; undefined without the variable. */
export const porchProgram: string | undefined = process.env['PORCH_SERVER']

/** Milliseconds until Porch must answer. */
const startTimeout = 120_000

/** Porch and its API server. */
export class Porch extends PackageClient implements AsyncDisposable {
  readonly #server: ApiServer
  readonly #process: ChildProcess
  readonly folder: string

  private constructor(clients: readonly [Client, Client], server: ApiServer, started: ChildProcess, folder: string) {
    super(...clients)
    this.#server = server
    this.#process = started
    this.folder = folder
  }

  static async start(program: string): Promise<Porch> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-porch-'))
    const server = await ApiServer.start({ storage: sqlite(join(folder, 'store.db')) })
    await installDefinitions(server.client(), [...packages.crds])
    const { kubeconfig } = await server.listen()
    writeFileSync(join(folder, 'kubeconfig'), kubeconfig)
    const port = await freePort()
    const args = [
      '--standalone-debug-mode',
      `--kubeconfig=${join(folder, 'kubeconfig')}`,
      `--cache-directory=${join(folder, 'cache')}`,
      `--cert-dir=${join(folder, 'certificates')}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      '--enable-priority-and-fairness=false',
      // A repository that takes longer to be read is left until the next sync.
      '--list-timeout-per-repo=2m',
      '--repo-sync-frequency=1m',
      // Dialled when a function runs that Porch has not built in: none does here.
      '--function-runner=127.0.0.1:1',
    ]
    const started = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let log = ''
    started.stderr!.on('data', (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-4000)))
    started.once('error', (error) => (log += error.message))
    const clients: [Client, Client] = [
      await firstAnswer(port, join(folder, 'certificates', 'apiserver.crt'), () => {
        if (started.exitCode !== null || started.pid === undefined) throw new Error(`Porch did not start: ${log}`)
      }),
      server.client({ manager: 'bench' }),
    ]
    return new Porch(clients, server, started, folder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit')
    if (this.#process.kill('SIGKILL')) await ended
    await this.#server[Symbol.asyncDispose]()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Resolves with a client once the server answers; it makes its certificate as it starts. */
async function firstAnswer(port: number, certificate: string, check: () => void): Promise<Client> {
  const end = performance.now() + startTimeout
  for (let last: unknown; ; await systemClock.sleep(200)) {
    check()
    if (performance.now() > end) throw new Error('Porch does not answer', { cause: last })
    if (!existsSync(certificate)) continue
    const ca = readFileSync(certificate, 'utf8')
    const client = new Client({
      transport: new HttpsTransport({ server: `https://127.0.0.1:${port}`, ca }),
      manager: 'bench',
    })
    try {
      await client.list(PackageRevisionKind, { namespace: 'default' })
      return client
    } catch (error) {
      last = error
      await client.transport[Symbol.asyncDispose]()
    }
  }
}
