// Runs the real kubectl (1.33, named by KUBECTL) with an empty HOME against the server of a scenario.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'

export interface KubectlResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

function isWanted(path: string): boolean {
  const found = spawnSync(path, ['version', '--client', '-o', 'json'], { encoding: 'utf8' })
  return found.status === 0 && /"gitVersion": "v1\.33\./.test(found.stdout)
}

/** The path of a kubectl 1.33: `KUBECTL`, or one on the PATH (or beside it, `kubectl.1.33`); undefined when there is none. */
export function findKubectl(): string | undefined {
  const named = process.env['KUBECTL']
  if (named) return isWanted(named) ? named : undefined
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'kubectl')
    if (!existsSync(path)) continue
    const beside = join(dirname(realpathSync(path)), 'kubectl.1.33')
    if (existsSync(beside) && isWanted(beside)) return beside
    const sibling = readdirSync(folder).includes('kubectl.1.33') ? join(folder, 'kubectl.1.33') : undefined
    if (sibling && isWanted(sibling)) return sibling
    if (isWanted(path)) return path
  }
  return undefined
}

/** A kubectl that waits for what never happens is ended after this time. */
const runMs = 60_000

/** kubectl with a HOME and a kubeconfig of its own. */
export class Kubectl implements Disposable {
  readonly #binary: string
  readonly #home: string
  readonly #kubeconfig: string

  constructor(binary: string, kubeconfig: string) {
    this.#binary = binary
    this.#home = mkdtempSync(join(tmpdir(), 'fairlead-kubectl-'))
    this.#kubeconfig = join(this.#home, 'config')
    writeFileSync(this.#kubeconfig, kubeconfig, { mode: 0o600 })
  }

  run(args: readonly string[], stdin?: string): Promise<KubectlResult> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.#binary, args, {
        cwd: this.#home,
        timeout: runMs,
        killSignal: 'SIGKILL',
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: this.#home,
          KUBECONFIG: this.#kubeconfig,
          LC_ALL: 'C',
          TZ: 'UTC',
        },
      })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
      child.on('error', reject)
      child.on('close', (code) => resolve({ exitCode: code ?? -1, stdout, stderr }))
      child.stdin.on('error', () => {})
      child.stdin.end(stdin ?? '')
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true, force: true })
  }
}
