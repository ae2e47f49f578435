// Runs the processes of an example beside the server: started before they are called, restarted when they exit, stopped
// with the server.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '@fairlead/client'
import { CommandError } from '@fairlead/offline/command-error'
import type { Example, ExampleProcess } from './example.ts'

const startMs = 15_000
const restartMs = 1_000

export interface RunningProcess extends AsyncDisposable {
  readonly name: string
  /** `127.0.0.1:<port>`; stays the same when the process is restarted. */
  readonly address: string
}

/** Starts a process with `PORT=0` and resolves when it has printed a line that ends in `on port <port>`. */
export async function startProcess(example: Example, spec: ExampleProcess): Promise<RunningProcess> {
  const process = new SupervisedProcess(join(example.folder, spec.module), spec.name)
  await process.start()
  return process
}

class SupervisedProcess implements RunningProcess {
  readonly name: string
  readonly #module: string
  #child: ChildProcess | undefined
  #port = 0
  #stopping = false
  #restart: Disposable | undefined

  constructor(module: string, name: string) {
    this.#module = module
    this.name = name
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.#module], {
      env: { ...process.env, PORT: String(this.#port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    this.#port = await portOf(child, this.name)
    child.once('exit', (code, signal) => this.#ended(code ?? signal))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true
    this.#restart?.[Symbol.dispose]()
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  }

  #ended(how: number | string | null): void {
    if (this.#stopping) return
    // Ctrl-C on a terminal also reaches the process: by the time of the restart the server is known to be stopping.
    this.#restart = systemClock.timer(restartMs, () => {
      process.stderr.write(`The process ${this.name} exited (${how}) and is restarted.\n`)
      this.start().catch((error: unknown) => {
        process.stderr.write(`${(error as Error).message}\n`)
        this.#ended('not started')
      })
    })
  }
}

function portOf(child: ChildProcess, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const tooLate = systemClock.timer(startMs, () => {
      child.kill('SIGKILL')
      reject(new CommandError(`the process ${name} did not print its port within ${startMs / 1000} s`))
    })
    const ended = (code: number | null): void => {
      tooLate[Symbol.dispose]()
      reject(new CommandError(`the process ${name} exited with code ${code} before it listened`))
    }
    child.once('exit', ended)
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const found = / on (?:port )?(\d+)$/.exec(line)
      if (!found) return
      tooLate[Symbol.dispose]()
      child.off('exit', ended)
      resolve(Number(found[1]))
    })
  })
}
