// The measured server as a process of its own: how long it took to start, what it holds, and load for it.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createSecureContext } from 'node:tls'
import { Connection } from './connection.ts'
import type { Answer, Target } from './connection.ts'
import { serverModule } from './program.ts'
import type { Form } from './program.ts'

/** Those of `npm start`; the rest is set by server.js, as by the launcher. */
export const startOptions: readonly string[] = ['--min-semi-space-size=8', '--max-semi-space-size=8']

/** The processes of a server, the one that has to end first first, and where it listens. */
export interface Started {
  readonly processes: readonly ChildProcess[]
  readonly target: Target
  readonly folder: string
  /** When the first process was started; of `performance.now()`. */
  readonly begin: number
}

/** A server under measurement, on an empty store of its own. */
export class ServerProcess implements AsyncDisposable {
  /** Milliseconds from the start of the process to the first `ok` of /readyz. */
  readonly readyMs: number
  readonly target: Target
  readonly #started: Started
  readonly #first: Connection

  private constructor(started: Started, first: Connection, readyMs: number) {
    this.#started = started
    this.target = started.target
    this.#first = first
    this.readyMs = readyMs
  }

  /**
   * Ours. `nodeOptions` come before the script, after those of the variable BENCH_NODE_OPTIONS (`--cpu-prof
   * --cpu-prof-dir=DIR`).
   */
  static async start(form: Form, nodeOptions: readonly string[] = []): Promise<ServerProcess> {
    return ServerProcess.over(await startOurs(form, nodeOptions))
  }

  /** Waits until a server is ready whose port is open, or soon will be. */
  static async over(started: Started): Promise<ServerProcess> {
    const first = await Connection.open(started.target)
    while ((await first.send('GET', '/readyz')).body.toString() !== 'ok');
    return new ServerProcess(started, first, performance.now() - started.begin)
  }

  /** Resident memory in megabytes (10^6 bytes). */
  memory(): number {
    return this.memories().reduce((sum, memory) => sum + memory, 0)
  }

  /** The same, process by process. */
  memories(): readonly number[] {
    return this.#started.processes.map(({ pid }) => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      return (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6
    })
  }

  /** Sends one request that has to succeed. */
  async send(method: string, path: string, body?: object, contentType?: string): Promise<Answer> {
    return succeeded(await this.#first.send(method, path, body === undefined ? '' : JSON.stringify(body), contentType))
  }

  /** Sends `count` requests over `width` connections, each as soon as the one before is answered; says how it went. */
  async load(count: number, width: number, request: (index: number) => Request): Promise<Load> {
    const connections = await Promise.all(Array.from({ length: width }, () => Connection.open(this.target)))
    const times = new Float64Array(count)
    let next = 0
    const begin = performance.now()
    await Promise.all(
      connections.map(async (connection) => {
        for (let index = next++; index < count; index = next++) {
          const { method, path, body, contentType } = request(index)
          const sent = performance.now()
          succeeded(await connection.send(method, path, body === undefined ? '' : JSON.stringify(body), contentType))
          times[index] = performance.now() - sent
        }
      }),
    )
    const elapsed = performance.now() - begin
    for (const connection of connections) connection[Symbol.dispose]()
    times.sort()
    return { perSecond: (count * 1000) / elapsed, p50: times[count >> 1]!, p99: times[Math.floor(count * 0.99)]! }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#first[Symbol.dispose]()
    await end(this.#started)
  }
}

async function startOurs(form: Form, nodeOptions: readonly string[]): Promise<Started> {
  const module = await serverModule(form)
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  const begin = performance.now()
  const own = process.env['BENCH_NODE_OPTIONS']?.split(' ') ?? []
  const child = spawn(
    process.execPath,
    [...startOptions, ...own, ...nodeOptions, module, join(folder, 'store'), form],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  })
  const { port, ca } = JSON.parse(line) as { port: number; ca: string }
  return {
    processes: [child],
    target: { port, context: createSecureContext({ ca }), token: 'bench' },
    folder,
    begin,
  }
}

/** Stops the processes, one after the other, and removes what they kept. */
export async function end({ processes, folder }: Pick<Started, 'processes' | 'folder'>): Promise<void> {
  for (const child of processes) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  }
  rmSync(folder, { recursive: true, force: true })
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly contentType?: string
}

/** Times in milliseconds. */
export interface Load {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

function succeeded(answer: Answer): Answer {
  if (answer.status >= 300) throw new Error(`the server answered ${answer.status}: ${answer.body.toString()}`)
  return answer
}
