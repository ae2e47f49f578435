// The scenarios of porchctl with `fairlead` in its place, against the embedded server over HTTPS and a git server over
// HTTP (formats: third-party/porch/README.md of the conformance data).
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launcher } from '../../support/launcher.ts'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { installDefinitions, Manager } from '@fairlead/controller'
import type { CapabilityInstance } from '@fairlead/controller'
import { parseYaml, parseYamlDocuments } from '@fairlead/kube'
import { packages, RepositoryKind } from '@fairlead/packages'
import { dataPath, describeData, readData } from '../../support/conformance-data.ts'
import { findKubectl } from '../../support/kubectl.ts'
import { buildBlueprints } from './blueprints.ts'
import { GitServer } from './git-server.ts'

interface Step {
  readonly args: readonly string[]
  readonly stdin?: string
  readonly stdout?: string
  readonly stderr?: string
  readonly yaml?: boolean
  readonly exitCode?: number
  readonly ignoreWhitespace?: boolean
  readonly stdErrTabToWhitespace?: boolean
  readonly containsErrorString?: boolean
}

interface Scenario {
  readonly name: string
  readonly usesPorchTestRepo: boolean
  readonly commands: readonly Step[]
}

/** Scenarios that do not run here, each with its reason. */
const left: Readonly<Record<string, string>> = {
  'rpkg-nested-package': 'its packages run starlark, which is not in this version',
}

const original = 'http://gitea.gitea.svc.cluster.local:3000'
const kubectl = ['1.36', '1.35', '1.34', '1.33', '1.32', '1.31', '1.30']
  .map(findKubectl)
  .find((path) => path !== undefined)

function scenarios(): readonly Scenario[] {
  const root = dataPath('third-party', 'porch', 'test', 'e2e', 'cli', 'testdata')
  return readdirSync(root)
    .sort()
    .map((name) => {
      const text = readData('third-party', 'porch', 'test', 'e2e', 'cli', 'testdata', name, 'config.yaml')
      const read = parseYaml(text) as unknown as Omit<Scenario, 'name'>
      return { ...read, name, usesPorchTestRepo: read.usesPorchTestRepo }
    })
}

describeData('porchctl scenarios', { minimum: 11, read: scenarios }, (all) => {
  let server: ApiServer
  let gitServer: GitServer
  let instance: CapabilityInstance
  let manager: Manager
  let client: Client
  let folder: string
  let kubeconfig: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-porch-cli-'))
    gitServer = await GitServer.start(join(folder, 'git'))
    buildBlueprints(gitServer.create('nephio/test-blueprints'))
    server = await ApiServer.start({ storage: memory(), validators: packages.admission ?? [] })
    client = server.client({ manager: 'test' })
    await installDefinitions(client, [...packages.crds])
    manager = await Manager.start({ client: server.client({ manager: 'fairlead-packages' }) })
    const options = { resolve: new Map<string, string>(), signal: manager.signal, dataFolder: join(folder, 'data') }
    instance = await packages.setup(manager, options)
    for (const storage of instance.storages ?? []) await server.addStorage(storage)
    kubeconfig = join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, (await server.listen()).kubeconfig)
  })

  afterAll(async () => {
    await instance.stop()
    await manager.stop(2000)
    await server[Symbol.asyncDispose]()
    await gitServer[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const { name, commands } of all) {
    const reason = left[name] ?? (kubectl === undefined && usesKubectl(commands) ? 'kubectl is missing' : undefined)
    if (reason !== undefined) {
      console.log(`skipped: porchctl scenario ${name}: ${reason}`)
      continue
    }
    test(`runs ${name} as porchctl does`, { timeout: 300_000 }, async () => {
      const work = join(folder, name)
      gitServer.create('nephio/porch-test')
      await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      for (const [index, step] of commands.entries()) {
        const wanted = place(step, gitServer.url, work)
        const actual = await execute(wanted, kubeconfig, work)
        expect({ index, args: wanted.args, ...normal(actual, wanted) }).toEqual({
          index,
          args: wanted.args,
          ...normal(expected(wanted), wanted),
        })
        const registered = /--name=(\S+)/.exec(wanted.args.join(' '))?.[1]
        if (wanted.args[2] === 'register' && registered !== undefined) {
          await client.waitFor(
            RepositoryKind,
            `${name}/${registered}`,
            (object) =>
              object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
          )
        }
      }
    })
  }
})

interface Result {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function usesKubectl(commands: readonly Step[]): boolean {
  return commands.some(({ args }) => args[0] === 'kubectl')
}

/** Puts the addresses and folders of this run in place of the originals. */
function place(step: Step, url: string, work: string): Step {
  const text = JSON.stringify(step).replaceAll(original, url).replaceAll('/tmp/porch-e2e', work)
  return JSON.parse(text) as Step
}

function execute({ args, stdin = '' }: Step, kubeconfig: string, work: string): Promise<Result> {
  const [program = '', ...rest] = args
  const command =
    program === 'porchctl'
      ? [process.execPath, launcher, ...rest]
      : program === 'kpt'
        ? [process.execPath, launcher, ...evalArguments(rest)]
        : program === 'kubectl'
          ? [kubectl!, ...rest]
          : program === 'sh'
            ? ['sh', ...rest]
            : [program, ...rest]
  return new Promise((resolve, reject) => {
    const child = spawn(command[0]!, command.slice(1), {
      env: { ...process.env, KUBECONFIG: kubeconfig },
      ...(existsSync(work) && { cwd: work }),
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }))
    // A program that reads no input may end before it gets some.
    child.stdin.on('error', () => undefined)
    child.stdin.end(stdin)
  })
}

/** `kpt fn eval …` is `fairlead pkg eval …`. */
function evalArguments(args: readonly string[]): readonly string[] {
  return args[0] === 'fn' && args[1] === 'eval' ? ['pkg', 'eval', ...args.slice(2)] : args
}

function expected({ stdout = '', stderr = '', exitCode = 0 }: Step): Result {
  return { code: exitCode, stdout, stderr }
}

/** Returns what is compared. */
function normal(
  result: Result,
  { args, yaml, ignoreWhitespace, stdErrTabToWhitespace, containsErrorString, stderr: wanted = '' }: Step,
): object {
  // The log of kpt is the log of fairlead pkg eval, whose tests compare it; here its effect counts.
  if (args[0] === 'kpt') return { code: result.code }
  let stderr = result.stderr
    .split('\n')
    .filter((line) => !line.includes('[PASS]'))
    .join('\n')
  if (stdErrTabToWhitespace === true) stderr = stderr.replaceAll('\t', '  ')
  if (containsErrorString === true) stderr = stderr.includes(wanted) ? wanted : stderr
  const blanks = (text: string): string => (ignoreWhitespace === true ? text.replace(/[ \t]+/g, ' ') : text)
  return {
    code: result.code,
    stdout: yaml === true ? documents(result.stdout) : sorted(blanks(result.stdout)),
    stderr: blanks(stderr),
  }
}

function documents(text: string): unknown {
  const values = parseYamlDocuments(text) as unknown[]
  return JSON.parse(JSON.stringify(values), (key, value: unknown) =>
    key === 'resourceVersion' || key === 'creationTimestamp' ? undefined : value,
  ) as unknown
}

function sorted(text: string): readonly string[] {
  const [first = '', ...rest] = text.trimEnd().split('\n')
  return [first.trimEnd(), ...rest.map((line) => line.trimEnd()).sort()]
}
