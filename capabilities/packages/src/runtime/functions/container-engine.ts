// Functions as container images, through docker or podman: no network, no privileges, bounded memory.
import { randomUUID } from 'node:crypto'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Clock } from '@fairlead/kube'
import type { FunctionOutput } from '../../engine/function-runner.ts'
import { PackageError } from '../../engine/package-error.ts'
import type { FunctionLimits, ProgramBounds } from './function-process.ts'
import { runProgram } from './function-process.ts'

/** When an image is pulled. */
export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never'

/** Milliseconds for the removal of a container. */
const removalTimeout = 30_000

/** A container engine of this machine. */
export interface ContainerEngine {
  readonly name: 'docker' | 'podman'
  readonly program: string
}

/** Finds docker or podman on the path; `KPT_FN_RUNTIME` chooses one. Undefined when there is none. */
export async function findContainerEngine(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<ContainerEngine | undefined> {
  const wanted = environment['KPT_FN_RUNTIME']
  const names = (['docker', 'podman'] as const).filter(
    (name) => wanted === undefined || wanted === '' || wanted === name,
  )
  for (const name of names)
    for (const folder of (environment['PATH'] ?? '').split(delimiter)) {
      const program = join(folder, name)
      const isExecutable = await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (folder !== '' && isExecutable) return { name, program }
    }
  return undefined
}

/**
 * Runs an image. A container whose client was killed goes on running: it is removed by its name.
 * @throws PackageError `UnknownFunction` without an engine, and as runProgram
 */
export async function runContainer(
  engine: ContainerEngine | undefined,
  image: string,
  input: string,
  options: ProgramBounds & { readonly limits: FunctionLimits; readonly pullPolicy: PullPolicy },
): Promise<FunctionOutput> {
  const { signal, clock, limits, pullPolicy } = options
  if (engine === undefined)
    throw new PackageError(
      'UnknownFunction',
      `function ${image} is not built in, and there is neither docker nor podman to run its image`,
    )
  if (!/^[A-Za-z0-9]/.test(image))
    throw new PackageError('UnknownFunction', `function ${image} is not built in, and no name of an image`)
  const pull = { Always: 'always', IfNotPresent: 'missing', Never: 'never' }[pullPolicy]
  const isolation = ['--network=none', '--user=65534', '--security-opt=no-new-privileges', '--cap-drop=ALL']
  // Without the second one, a container may swap as much again.
  const bounds = [`--memory=${limits.memory}m`, `--memory-swap=${limits.memory}m`, '--pids-limit=256']
  const container = `fairlead-function-${randomUUID()}`
  const args = ['run', '--rm', '-i', `--name=${container}`, ...isolation, ...bounds, `--pull=${pull}`, image]
  try {
    return await runProgram([engine.program, ...args], input, { name: image, signal, clock, timeout: limits.timeout })
  } catch (error) {
    await removeContainer(engine, container, clock)
    throw error
  }
}

/** Removes a container where it still exists. */
async function removeContainer({ program }: ContainerEngine, container: string, clock: Clock): Promise<void> {
  const bounds = { name: program, signal: new AbortController().signal, clock, timeout: removalTimeout }
  // The error that ended the function says more than a failed removal.
  await runProgram([program, 'rm', '--force', container], '', bounds).catch(() => undefined)
}
