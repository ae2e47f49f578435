// Starting the command of a container: as a child process of this one, or in a container engine.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@fairlead/kube'
import { isJsonArray, isJsonObject } from '@fairlead/kube'

/** How commands run. `process` gives them this user's rights on this machine: only with the flag that says so. */
export type RunMode = 'process' | 'podman' | 'docker'

/** A command to run. */
export interface Launch {
  readonly mode: RunMode
  /** Name of the container, where there is one. */
  readonly name: string
  /** A container of a pod. */
  readonly container: JsonObject
  /** Access to the API as the pod's service account, as a kubeconfig. */
  readonly kubeconfig: string | undefined
  /** What it prints, on both streams. */
  readonly print: (chunk: Buffer) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

/** Runs to the end and gives the exit code; 127 when it cannot be started, 137 when it was ended. */
export async function launch(options: Launch): Promise<number> {
  const { container, mode, print, signal } = options
  const command = [...texts(container['command']), ...texts(container['args'])]
  if (command.length === 0 && mode === 'process') {
    print(
      Buffer.from(
        'The container names no command, and what its image would run cannot be known here. Name one, or start with --run-jobs=podman.\n',
      ),
    )
    return 127
  }
  if (signal.aborted) return 137
  // An engine's container outlives the client that started it.
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
    // The whole group: a shell's children must not outlive it.
    const end = (): void => {
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It is gone already.
      }
    }
    signal.addEventListener('abort', end, { once: true })
    child.stdout.on('data', print)
    child.stderr.on('data', print)
    child.once('error', (error) => {
      print(Buffer.from(`${argv[0]!} cannot be started: ${error.message}\n`))
      signal.removeEventListener('abort', end)
      resolve(127)
    })
    child.once('close', (code) => {
      signal.removeEventListener('abort', end)
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

/** Literal variables only: values out of Secrets and ConfigMaps are a kubelet's work. */
function environmentOf(container: JsonObject): Record<string, string> {
  const list = isJsonArray(container['env']) ? container['env'] : []
  return Object.fromEntries(
    list
      .filter(isJsonObject)
      .flatMap(({ name, value }) => (typeof name === 'string' && typeof value === 'string' ? [[name, value]] : [])),
  )
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
