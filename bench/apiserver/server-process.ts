// Starts the measured server as a process of its own and says how long it took.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { createInterface } from 'node:readline'

/** How the server is run: sources by type stripping, or what `npm run build` made of them. */
export type Form = 'source' | 'built'

export interface Answer {
  readonly status: number
  readonly bytes: number
  readonly text: string
}

/** A server under measurement. */
export class ServerProcess implements AsyncDisposable {
  /** Milliseconds from the start of the process to the first `ok` of /readyz. */
  readonly readyMs: number
  readonly #child: ChildProcess
  readonly #port: number
  readonly #agent: Agent

  private constructor(child: ChildProcess, port: number, agent: Agent, readyMs: number) {
    this.#child = child
    this.#port = port
    this.#agent = agent
    this.readyMs = readyMs
  }

  static async start(folder: string, form: Form): Promise<ServerProcess> {
    const begin = performance.now()
    const child = spawn(process.execPath, [new URL('server.js', import.meta.url).pathname, folder, form], { stdio: ['ignore', 'pipe', 'inherit'] })
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve)
      child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    })
    const { port, ca } = JSON.parse(line) as { port: number; ca: string }
    const agent = new Agent({ keepAlive: true, maxSockets: 64, ca })
    const probe = new ServerProcess(child, port, agent, 0)
    while ((await probe.send('GET', '/readyz')).text !== 'ok');
    return new ServerProcess(child, port, agent, performance.now() - begin)
  }

  /** Resident memory in megabytes (10^6 bytes). */
  memory(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    return (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6
  }

  send(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = { Authorization: 'Bearer bench', ...(text === undefined ? {} : { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(text) }) }
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const bytes = Buffer.concat(chunks)
          resolve({ status: response.statusCode ?? 0, bytes: bytes.length, text: bytes.toString() })
        })
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(text)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    if (this.#child.exitCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await gone
  }
}
