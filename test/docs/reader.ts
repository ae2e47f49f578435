// A reader who follows a tutorial: a folder, a shell whose variables and folder last, terminals in which things are
// left running.
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { patience } from '../support/until.ts'
import { isAsShown } from './tutorial.ts'
import type { Step } from './tutorial.ts'

/** The top of the repository. */
export const root: string = resolve(import.meta.dirname, '../..')

const settleMs = patience
const startMs = patience

/** Returns the tool that the pages need and this machine lacks, or undefined. */
export function missingTool(): string | undefined {
  return ['bash', 'kubectl'].find((tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error !== undefined)
}

/** A reader with an empty folder, in which the commands of the repository are at hand. */
export class Reader implements AsyncDisposable {
  readonly folder: string
  readonly #state: string
  readonly #running: ChildProcess[] = []
  #cwd: string

  /** `commands` are scripts that replace commands of the page which would touch this machine or the network. */
  constructor(commands: Readonly<Record<string, string>>) {
    this.#state = mkdtempSync(join(tmpdir(), 'fairlead-reader-'))
    this.folder = join(this.#state, 'clone')
    this.#cwd = this.folder
    const bin = join(this.#state, 'bin')
    for (const folder of [this.folder, bin, join(this.#state, 'home')]) mkdirSync(folder)
    const all = { node: `exec '${process.execPath}' "$@"`, ...commands }
    for (const [name, script] of Object.entries(all)) {
      writeFileSync(join(bin, name), `#!/usr/bin/env bash\n${script}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    const { PATH = '', TMPDIR = tmpdir(), XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env
    const environment = {
      PATH: `${bin}${delimiter}${PATH}`,
      TMPDIR,
      HOME: join(this.#state, 'home'),
      // Compiled code of the command: without it each of its starts takes three times as long.
      XDG_CACHE_HOME,
      NO_COLOR: '1',
      LC_ALL: 'C',
    }
    writeFileSync(
      this.#environmentFile,
      Object.entries(environment)
        .map(([name, value]) => `${name}=${value}\0`)
        .join(''),
    )
  }

  /** Does what a step says. Throws Error that names the line when it does not go as the page says. */
  async take(step: Step): Promise<void> {
    if (step.do === 'save') return this.#save(step.file, step.text)
    if (step.do === 'leave running') return this.#leaveRunning(step.script, step.until)
    if (step.do === 'compare') return this.#compare(step)
    const { code, stdout, stderr } = await this.#run(step.script)
    if (code !== 0) throw new Error(`line ${step.line}: exit code ${code}\n${step.script}${stdout}${stderr}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exited = once(child, 'exit')
      process.kill(-child.pid!, 'SIGTERM')
      await exited
    }
    rmSync(this.#state, { recursive: true, force: true })
  }

  get #environmentFile(): string {
    return join(this.#state, 'environment')
  }

  #save(file: string, text: string): void {
    mkdirSync(dirname(join(this.#cwd, file)), { recursive: true })
    writeFileSync(join(this.#cwd, file), text)
  }

  async #compare({ line, command, output }: Step & { readonly do: 'compare' }): Promise<void> {
    const end = performance.now() + settleMs
    for (;;) {
      const { stdout, stderr } = await this.#run(command)
      if (isAsShown(stdout + stderr, output)) return
      if (!command.startsWith('kubectl get') || performance.now() > end)
        throw new Error(`line ${line}: $ ${command}\nprints\n${stdout}${stderr}\nand the page shows\n${output}`)
    }
  }

  #spawn(script: string): ChildProcess {
    const environment = Object.fromEntries(
      readFileSync(this.#environmentFile, 'utf8')
        .split('\0')
        .filter((entry) => entry.includes('='))
        .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    )
    return spawn('bash', ['-c', script], {
      cwd: this.#cwd,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  async #run(script: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const cwdFile = join(this.#state, 'cwd')
    const keep = `trap 'pwd > "${cwdFile}"; env -0 > "${this.#environmentFile}"' EXIT`
    const child = this.#spawn(`${keep}\nset -e\n${script}`)
    let [stdout, stderr] = ['', '']
    child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    if (existsSync(cwdFile)) this.#cwd = readFileSync(cwdFile, 'utf8').trimEnd()
    return { code, stdout, stderr }
  }

  async #leaveRunning(script: string, until: string): Promise<void> {
    const child = this.#spawn(`exec ${script}`)
    this.#running.push(child)
    let output = ''
    await new Promise<void>((done, reject) => {
      const tooLate = setTimeout(() => reject(new Error(`${script}does not print "${until}" but\n${output}`)), startMs)
      const read = (chunk: Buffer): void => {
        output += chunk.toString()
        if (!output.includes(until)) return
        clearTimeout(tooLate)
        done()
      }
      child.stdout!.on('data', read)
      child.stderr!.on('data', read)
      child.once('exit', (code) => reject(new Error(`${script}ends with ${code}:\n${output}`)))
    })
  }
}
