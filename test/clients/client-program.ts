// A client as a program of its own. Arguments give its role; it prints what it sees as lines of JSON, and ends
// when its input does.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** One line of a client program. `event` says which of the others there are. */
export interface ClientLine {
  readonly event: string
  readonly name?: string
  readonly n?: string
  readonly objects?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

/** The command of a client program and the arguments before its role. */
export interface ClientCommand {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

/** A running client program. */
export class ClientProgram implements AsyncDisposable {
  readonly lines: ClientLine[] = []
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()
  #errors = ''

  constructor({ command, args }: ClientCommand, role: readonly string[], kubeconfig: string) {
    this.#child = spawn(command, [...args, ...role], {
      env: { ...process.env, KUBECONFIG: kubeconfig, KUBE_FEATURE_WatchListClient: 'true', NODE_NO_WARNINGS: '1' },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child.stdin?.on('error', () => {})
    this.#child.stderr?.on('data', (chunk: Buffer) => (this.#errors = (this.#errors + chunk.toString()).slice(-4_000)))
    this.#child.on('close', () => this.#wake())
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      this.lines.push(line.startsWith('{') ? (JSON.parse(line) as ClientLine) : { event: 'said', text: line })
      this.#wake()
    })
  }

  /**
   * Resolves when the lines so far satisfy the condition; false when that takes longer than `ms` or the program ends
   * before.
   */
  async until(condition: (lines: readonly ClientLine[]) => boolean, ms: number = 60_000): Promise<boolean> {
    const deadline = performance.now() + ms
    while (!condition(this.lines)) {
      if (this.#child.exitCode !== null || performance.now() > deadline) return false
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200)
        this.#waiting.add(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    return true
  }

  /** Closes its input and waits for its end. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.stdin?.end()
    await closed
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** The last of what it wrote to stderr. */
  get errors(): string {
    return this.#errors
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = once(this.#child, 'close')
    this.kill()
    await closed
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
