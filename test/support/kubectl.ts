// Runs a real kubectl of a wanted version with an empty HOME.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { patience } from './until.ts'

/** The result of a run of kubectl. */
export interface KubectlResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

function isVersion(path: string, minor: string): boolean {
  const found = spawnSync(path, ['version', '--client', '-o', 'json'], { encoding: 'utf8' })
  return found.status === 0 && found.stdout.includes(`"gitVersion": "v${minor}.`)
}

/**
 * The path of a kubectl of a minor version such as `1.33`: what `KUBECTL` names, `kubectl` on the PATH, or a
 * `kubectl.<minor>` beside either of them; undefined when there is none.
 */
export function findKubectl(minor: string): string | undefined {
  const named = process.env['KUBECTL']
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = [...(named ? [named] : []), ...folders.map((folder) => join(folder, 'kubectl'))].filter((path) =>
    existsSync(path),
  )
  const candidates = found.flatMap((path) => [
    join(dirname(realpathSync(path)), `kubectl.${minor}`),
    join(dirname(path), `kubectl.${minor}`),
    path,
  ])
  return candidates.find((path) => existsSync(path) && isVersion(path, minor))
}

/** A kubectl that waits for what never happens is ended after this time. */
const runMs = patience

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

  /** Runs it; `variables` are added to its environment. */
  run(args: readonly string[], stdin?: string, variables: NodeJS.ProcessEnv = {}): Promise<KubectlResult> {
    return this.#start(args, stdin, variables, () => false)
  }

  /** Runs a command that does not end by itself, until it has printed enough; returns what it printed. */
  async watch(args: readonly string[], isEnough: (stdout: string) => boolean): Promise<string> {
    const { stdout, stderr } = await this.#start(args, undefined, {}, isEnough)
    if (!isEnough(stdout)) throw new Error(`kubectl ${args.join(' ')} ended after\n${stdout}${stderr}`)
    return stdout
  }

  /** Ends it, too, when `isEnough` of its standard output. */
  #start(
    args: readonly string[],
    stdin: string | undefined,
    variables: NodeJS.ProcessEnv,
    isEnough: (stdout: string) => boolean,
  ): Promise<KubectlResult> {
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
          ...variables,
        },
      })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString()
        if (isEnough(stdout)) child.kill('SIGKILL')
      })
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

/**
 * Over HTTP/1.1 a kubectl that gives up waiting sometimes logs that its watch was short, and sometimes not: closing the
 * connection races in the client with its own decision to stop. (The recordings were made over HTTP/2, where the
 * decision wins.)
 */
export function withoutNoise(result: KubectlResult): KubectlResult {
  return { ...result, stderr: result.stderr.replaceAll(/^[IWE]\d{4} .*reflector\.go:.*very short watch.*\n/gm, '') }
}
