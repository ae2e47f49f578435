// Runs the processes of an example beside the server: started before anything calls them, stopped with it.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CliError } from '../error.ts'
import type { Example, ExampleProcess } from './example.ts'

const startMs = 15_000

export interface RunningProcess extends AsyncDisposable {
  readonly name: string
  /** `127.0.0.1:<port>`. */
  readonly address: string
}

/** Starts a process with `PORT=0` and resolves when it has printed a line that ends in `on port <port>`. */
export async function startProcess(example: Example, spec: ExampleProcess): Promise<RunningProcess> {
  const child = spawn(process.execPath, [join(example.folder, spec.module)], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await portOf(child, spec.name)
  return {
    name: spec.name,
    address: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}

function portOf(child: ChildProcess, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
    const tooLate = AbortSignal.timeout(startMs)
    tooLate.addEventListener('abort', () => {
      child.kill('SIGKILL')
      reject(new CliError(`the process ${name} did not say within ${startMs / 1000} s where it listens`))
    })
    child.once('exit', (code) =>
      reject(new CliError(`the process ${name} ended with exit code ${code} before it listened`)),
    )
    lines.on('line', (line) => {
      const found = / on (?:port )?(\d+)$/.exec(line)
      if (found) resolve(Number(found[1]))
    })
  })
}
