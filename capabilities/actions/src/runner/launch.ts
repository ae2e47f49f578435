// Starts the command of a container: as a child process, or in a container engine.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'

/** Run modes. `process` gives commands this user's rights on this machine, and so needs an explicit flag. */
export type RunMode = 'process' | 'podman' | 'docker'

/** A command to run. */
export interface Launch {
  readonly mode: RunMode
  /** Name of the container in the engine. */
  readonly name: string
  /** A container of the pod's spec. */
  readonly container: JsonObject
  /** Kubeconfig with the rights of the pod's service account. */
  readonly kubeconfig: string | undefined
  /** Receives the output, of both streams. */
  readonly print: (chunk: Buffer) => void
  /** Kills the command. */
  readonly signal: AbortSignal
}

/** Runs a command and returns its exit code; 127 when it cannot be started, 137 when it was killed. */
export async function launch(options: Launch): Promise<number> {
  const { container, mode, print, signal } = options
  const command = [...stringsOf(container['command']), ...stringsOf(container['args'])]
  if (command.length === 0 && mode === 'process') {
    print(
      Buffer.from(
        'The container has no command, and the default of its image is unknown here. Set a command, or start with --run-jobs=podman.\n',
      ),
    )
    return 127
  }
  if (signal.aborted) return 137
  // A container outlives the client that started it.
  if (mode !== 'process')
    signal.addEventListener(
      'abort',
      () => spawn(mode, ['kill', options.name], { stdio: 'ignore' }).on('error', () => {}),
      { once: true },
    )
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-job-'))
  try {
    const kubeconfig = join(folder, 'kubeconfig')
    if (options.kubeconfig !== undefined) await writeFile(kubeconfig, options.kubeconfig, { mode: 0o600 })
    const environment = {
      ...environmentOf(container),
      ...(options.kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }),
    }
    const argv = mode === 'process' ? command : engineCommand(options, command, environment)
    return await run(argv, {
      cwd: folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: mode === 'process' ? folder : (process.env['HOME'] ?? folder),
        LANG: 'C.UTF-8',
        ...environment,
      },
      print,
      signal,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function run(
  argv: readonly string[],
  {
    cwd,
    env,
    print,
    signal,
  }: {
    readonly cwd: string
    readonly env: Readonly<Record<string, string>>
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

function engineCommand(
  { mode, name, container, kubeconfig }: Launch,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  const [entry, ...args] = command
  const variables = Object.entries(environment).flatMap(([key, value]) =>
    key === 'KUBECONFIG' ? ['--env', 'KUBECONFIG=/var/run/fairlead/kubeconfig'] : ['--env', `${key}=${value}`],
  )
  const access =
    kubeconfig === undefined
      ? []
      : ['--network', 'host', '--volume', `${environment['KUBECONFIG'] ?? ''}:/var/run/fairlead/kubeconfig:ro`]
  return [
    mode,
    'run',
    '--rm',
    '--init',
    '--sig-proxy=true',
    '--name',
    name,
    ...variables,
    ...access,
    ...(entry === undefined ? [] : ['--entrypoint', entry]),
    String(container['image'] ?? ''),
    ...args,
  ]
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
