// `fairlead up` as a process of its own, as a user starts it.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

const launcher = resolve(import.meta.dirname, '../../apps/cli/bin/fairlead.js')
const startMs = 30_000

/** A running `fairlead up`. */
export class UpProcess {
  readonly kubeconfig: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, kubeconfig: string) {
    this.#child = child
    this.kubeconfig = kubeconfig
  }

  /** Starts it on a data folder and resolves when it says that it is ready. */
  static async start(data: string, args: readonly string[] = []): Promise<UpProcess> {
    const child = spawn(process.execPath, [launcher, 'up', '--data', data, '--port', '0', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
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
        ready(new UpProcess(child, kubeconfig))
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

  async stop(): Promise<void> {
    await this.#end('SIGINT')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill(signal)
    await gone
  }
}
