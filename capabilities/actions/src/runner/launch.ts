// Starts the command of a container: as a child process, or in a container engine.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { imageReference } from '../engine/runs/image.ts'

/** Run modes. `process` gives commands this user's rights on this machine, and so needs an explicit flag. */
export type RunMode = 'process' | 'podman' | 'docker'

/** A command to run. */
export interface Launch {
  readonly mode: RunMode
  /** Identifies the container in the engine: the uid of the pod, since its name may exist in other namespaces. */
  readonly uid: string
  /** A container of the pod's spec. */
  readonly container: JsonObject
  /** The security context of the pod, with that of the container in it. */
  readonly securityContext: JsonObject
  /** Kubeconfig with the rights of the pod's service account. */
  readonly kubeconfig: string | undefined
  /** Receives the output, of both streams. */
  readonly print: (chunk: Buffer) => void
  /** Kills the command. */
  readonly signal: AbortSignal
}

/** Runs a command and returns its exit code; 127 when it cannot be started, 137 when it was killed. Never rejects. */
export async function launch(options: Launch): Promise<number> {
  const { print } = options
  try {
    return await start(options)
  } catch (error) {
    // The operating system refused its arguments, or the folder of temporary files.
    print(Buffer.from(`The command cannot be started: ${(error as Error).message}\n`))
    return 127
  }
}

async function start(options: Launch): Promise<number> {
  const { container, mode, print, signal, uid } = options
  const command = [...stringsOf(container['command']), ...stringsOf(container['args'])]
  const refuse = (why: string): number => {
    print(Buffer.from(`${why}\n`))
    return 127
  }
  if (mode === 'process' && command.length === 0)
    return refuse(
      'The container has no command, and the default of its image is unknown here. Set a command, or start with --run-jobs=podman.',
    )
  if (mode !== 'process' && !imageReference.test(String(container['image'])))
    return refuse(`The image ${JSON.stringify(container['image'])} is not an image reference.`)
  if (signal.aborted) return 137
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-job-'))
  // A container outlives the client that started it.
  const kill = (): void => {
    if (mode !== 'process') spawn(mode, ['kill', containerName(uid)], { stdio: 'ignore' }).on('error', () => {})
  }
  signal.addEventListener('abort', kill, { once: true })
  try {
    return await run(await invocation(options, command, folder), { cwd: folder, print, signal })
  } finally {
    // Only a signal that aborts the command kills its container, not one that follows its end.
    signal.removeEventListener('abort', kill)
    // The client may have been killed before the engine knew the container.
    if (signal.aborted) kill()
    await rm(folder, { recursive: true, force: true })
  }
}

/** A program, its arguments and its environment. */
interface Invocation {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

async function invocation(options: Launch, command: readonly string[], folder: string): Promise<Invocation> {
  const { mode, container } = options
  const environment = environmentOf(container)
  const kubeconfig = join(folder, 'kubeconfig')
  // The folder is private. In a container, the file must be readable by the user of the container.
  if (options.kubeconfig !== undefined)
    await writeFile(kubeconfig, options.kubeconfig, { mode: mode === 'process' ? 0o600 : 0o644 })
  if (mode !== 'process') return engineInvocation(options, command, environment, folder)
  const own = { PATH: process.env['PATH'] ?? '', HOME: folder, LANG: 'C.UTF-8' }
  const access = options.kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }
  return { argv: command, env: { ...own, ...environment, ...access } }
}

function run(
  { argv, env }: Invocation,
  {
    cwd,
    print,
    signal,
  }: {
    readonly cwd: string
    readonly print: (chunk: Buffer) => void
    readonly signal: AbortSignal
  },
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(argv[0]!, argv.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    // The process group: children of a shell must not outlive it.
    const kill = (): void => {
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch {
        // The process has ended already.
      }
    }
    signal.addEventListener('abort', kill, { once: true })
    child.stdout.on('data', print)
    child.stderr.on('data', print)
    child.once('error', (error) => {
      print(Buffer.from(`${argv[0]!} cannot be started: ${error.message}\n`))
      signal.removeEventListener('abort', kill)
      resolve(127)
    })
    child.once('close', (code) => {
      signal.removeEventListener('abort', kill)
      resolve(code ?? 137)
    })
  })
}

/** Path of the kubeconfig within a container. */
const kubeconfigPath = '/var/run/fairlead/kubeconfig'

/** User of containers that must not run as root and name no user: the last one, which owns no file. */
const unprivilegedUser = 65_534

/**
 * Returns the invocation of a container engine. The engine itself has the environment of this server; variables of the
 * container reach the container alone, in a file, so that the list of processes does not show them.
 */
async function engineInvocation(
  { mode, uid, container, kubeconfig, securityContext }: Launch,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
): Promise<Invocation> {
  const [entry, ...args] = command
  const variables = Object.entries({
    ...environment,
    ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfigPath }),
  })
  const file = join(folder, 'environment')
  const lines = variables.filter(isLine).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(file, lines.join(''), { mode: 0o600 })
  const user = userOf(securityContext)
  return {
    argv: [
      mode,
      'run',
      '--rm',
      '--init',
      '--sig-proxy=true',
      `--name=${containerName(uid)}`,
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      ...(user === undefined ? [] : [`--user=${user}`]),
      ...(lines.length === 0 ? [] : [`--env-file=${file}`]),
      ...variables.filter((variable) => !isLine(variable)).map(([name, value]) => `--env=${name}=${value}`),
      // The API server listens on loopback only.
      ...(kubeconfig === undefined
        ? []
        : ['--network=host', `--volume=${join(folder, 'kubeconfig')}:${kubeconfigPath}:ro`]),
      ...(entry === undefined ? [] : [`--entrypoint=${entry}`]),
      '--',
      String(container['image']),
      ...args,
    ],
    env: process.env,
  }
}

function containerName(uid: string): string {
  return `fairlead-${uid}`
}

/** Reports whether a file of variables can hold one: engines read it line by line, 64 KiB each. */
function isLine([name, value]: readonly [string, string]): boolean {
  return /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name) && !/[\r\n]/.test(value) && Buffer.byteLength(value) < 60_000
}

/** Returns the user of a container; undefined for that of its image. */
function userOf({ runAsUser, runAsGroup, runAsNonRoot }: JsonObject): string | undefined {
  const user = typeof runAsUser === 'number' ? runAsUser : runAsNonRoot === true ? unprivilegedUser : undefined
  const group = typeof runAsGroup === 'number' ? `:${runAsGroup}` : ''
  return user === undefined ? (group === '' ? undefined : `0${group}`) : `${user}${group}`
}

/** Returns the literal variables; those from Secrets and ConfigMaps need a kubelet. */
function environmentOf(container: JsonObject): Record<string, string> {
  const list = isJsonArray(container['env']) ? container['env'] : []
  return Object.fromEntries(
    list
      .filter(isJsonObject)
      .flatMap(({ name, value }) => (typeof name === 'string' && typeof value === 'string' ? [[name, value]] : [])),
  )
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
