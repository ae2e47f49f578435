// `fairlead run` as a process of its own, as a Deployment starts it. Start with RunProcess.start.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { request } from 'node:https'
import { launcher } from './launcher.ts'
import { until } from './until.ts'

/** A line of its log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string; readonly level: string }

/** A running process. Disposing it kills it. */
export class RunProcess implements AsyncDisposable {
  readonly lines: LogLine[] = []
  readonly #child: ChildProcess
  readonly #host: string
  /** Its output beside log lines. */
  text = ''

  private constructor(child: ChildProcess, host: string) {
    this.#child = child
    this.#host = host
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (line.startsWith('{')) this.lines.push(JSON.parse(line) as LogLine)
      else this.text += `${line}\n`
    })
  }

  /** Starts it with flags; resolves when its controllers are set up. */
  static async start(
    args: readonly string[],
    options: { readonly launcher?: string; readonly env?: NodeJS.ProcessEnv } = {},
  ): Promise<RunProcess> {
    const program = options.launcher ?? launcher
    const child = spawn(process.execPath, [program, 'run', '--port', '0', '--api-port', '0', ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, KUBECONFIG: '/dev/null', ...options.env },
    })
    const running = new RunProcess(child, args.includes('--host') ? args[args.indexOf('--host') + 1]! : '127.0.0.1')
    const started = await until(
      'the controllers are set up',
      () => running.has('Started the controllers') || running.#code(),
    )
    if (typeof started === 'number')
      throw new Error(`fairlead run ended with ${started}:\n${running.text}${running.log}`)
    return running
  }

  get pid(): number {
    return this.#child.pid!
  }

  get log(): string {
    return this.lines.map((line) => JSON.stringify(line)).join('\n')
  }

  /** The port of health, metrics and webhooks. */
  get port(): number {
    return this.#started('port') as number
  }

  /** The identity in its Leases. */
  get identity(): string {
    return this.#started('identity') as string
  }

  /** Reports whether it has logged a message. */
  has(message: string): boolean {
    return this.lines.some(({ msg }) => msg === message)
  }

  /** Sends a signal; the process may go on. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Resolves with its exit code, or the name of the signal that ended it. */
  async ended(): Promise<number | string> {
    const code = this.#code()
    if (code !== undefined) return code
    const [exit, signal] = (await once(this.#child, 'close')) as [number | null, string | null]
    return exit ?? signal!
  }

  /** Stops it gracefully; resolves with its exit code. */
  async stop(): Promise<number | string> {
    this.signal('SIGTERM')
    return this.ended()
  }

  /** Reads a path of its server: the status and the body. */
  get(path: string, token?: string): Promise<readonly [number, string]> {
    return this.#send('GET', path, token === undefined ? {} : { authorization: `Bearer ${token}` })
  }

  /** Posts an empty body to a path of its server: the status and the body of the response. */
  post(path: string, headers: Readonly<Record<string, string>>): Promise<readonly [number, string]> {
    return this.#send('POST', path, headers)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#code() !== undefined) return
    const ended = this.ended()
    this.signal('SIGKILL')
    await ended
  }

  #code(): number | string | undefined {
    return this.#child.exitCode ?? this.#child.signalCode ?? undefined
  }

  #send(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<readonly [number, string]> {
    const { port } = this
    return new Promise((resolve, reject) => {
      const options = { host: this.#host, port, path, method, headers, rejectUnauthorized: false, agent: false }
      const sent = request(options, (response) => {
        let body = ''
        response.on('data', (chunk: Buffer) => (body += chunk.toString()))
        response.on('end', () => resolve([response.statusCode!, body]))
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  #started(field: string): unknown {
    return this.lines.find(({ msg }) => msg === 'Started the controllers')?.[field]
  }
}
