// `fairlead up` as a process of its own, as a user starts it.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { launcher } from '../support/launcher.ts'
import { patience } from '../support/until.ts'

const startMs = patience

interface Text {
  text: string
}

/** A running `fairlead up`. */
export class UpProcess {
  readonly kubeconfig: string
  readonly #child: ChildProcess
  readonly #errors: Text

  private constructor(child: ChildProcess, kubeconfig: string, errors: Text) {
    this.#child = child
    this.kubeconfig = kubeconfig
    this.#errors = errors
  }

  /** Starts it on a data folder, or in memory, and resolves when it says that it is ready. */
  static async start(
    data: string | undefined,
    args: readonly string[] = [],
    options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
  ): Promise<UpProcess> {
    const place = data === undefined ? ['--in-memory'] : ['--data', data]
    const child = spawn(process.execPath, [launcher, 'up', ...place, '--port', '0', ...args], {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const errors: Text = { text: '' }
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      errors.text += chunk.toString()
      child.emit('said')
    })
    return new Promise((ready, reject) => {
      const tooLate = setTimeout(() => {
        child.kill('SIGKILL')
        reject(new Error(`fairlead up was not ready within ${startMs / 1000} s:\n${output}`))
      }, startMs)
      child.once('exit', (code) => reject(new Error(`fairlead up ended with ${code}:\n${output}`)))
      let kubeconfig: string | undefined
      createInterface({ input: child.stdout }).on('line', (line) => {
        output += `${line}\n`
        kubeconfig ??= /^export KUBECONFIG='?([^']+)'?$/.exec(line)?.[1]
        if (kubeconfig === undefined || !/ctrl-c/i.test(line)) return
        clearTimeout(tooLate)
        ready(new UpProcess(child, kubeconfig, errors))
      })
    })
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Sends a signal and waits for the end; gives the exit code and what was written to stderr. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<{ readonly code: number | null; readonly output: string }> {
    await this.#end(signal)
    return { code: this.#child.exitCode, output: this.#errors.text }
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Resolves when stderr contains a string. */
  async says(text: string): Promise<void> {
    while (!this.#errors.text.includes(text)) await once(this.#child, 'said')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.kill(signal)
    await closed
  }
}
