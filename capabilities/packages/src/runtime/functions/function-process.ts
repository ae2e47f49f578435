// Functions as programs: a ResourceList on standard input, one on standard output, bounded in time and output.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Clock } from '@fairlead/kube'
import type { FunctionOutput } from '../../engine/function-runner.ts'
import { PackageError } from '../../engine/package-error.ts'

/** Bounds of one function. */
export interface FunctionLimits {
  /** Milliseconds. */
  readonly timeout: number
  /** Mebibytes: heap of a worker thread, memory of a container. */
  readonly memory: number
}

/** Bounds unless others are given. */
export const defaultLimits: FunctionLimits = { timeout: 300_000, memory: 512 }

/** When a program is ended. */
export interface ProgramBounds {
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** The bytes that a program may write to standard output, and to standard error. */
const maxOutput = 256 * 1024 * 1024
const maxErrors = 1024 * 1024

/**
 * Runs a program without a shell.
 * @param name the function, for errors
 * @throws PackageError `UnknownFunction` when the program does not exist, `FunctionTimeout`, `FunctionMemory` for too
 * much output; the signal's reason
 */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  input: string,
  { name, signal, clock, timeout }: ProgramBounds & { readonly name: string; readonly timeout: number },
): Promise<FunctionOutput> {
  signal.throwIfAborted()
  // A process group of its own, so that what the program starts ends with it.
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  let failure: PackageError | undefined
  const stop = (error?: PackageError): void => {
    failure ??= error
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      child.kill('SIGKILL')
    }
  }
  const onAbort = (): void => stop()
  signal.addEventListener('abort', onAbort, { once: true })
  using _timer = clock.timer(timeout, () =>
    stop(new PackageError('FunctionTimeout', `function ${name} did not finish within ${Math.round(timeout / 1000)} s`)),
  )
  try {
    const output = collect(child.stdout, maxOutput, () =>
      stop(new PackageError('FunctionMemory', `function ${name} wrote more than ${maxOutput} bytes`)),
    )
    const errors = collect(child.stderr, maxErrors)
    // A program that ends early breaks the pipe; its exit code says why.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const [code, killedBy] = (await once(child, 'close').catch((error: unknown) => {
      throw new PackageError('UnknownFunction', `function ${name} could not be started: ${(error as Error).message}`)
    })) as [number | null, string | null]
    signal.throwIfAborted()
    if (failure !== undefined) throw failure
    const stderr = errors().replace(/\n$/, '')
    return {
      resourceList: output(),
      stderr: code === null && stderr === '' ? `killed by ${killedBy}` : stderr,
      exitCode: code ?? 1,
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Collects a stream up to a number of bytes; what exceeds them is dropped. */
function collect(stream: NodeJS.ReadableStream, limit: number, onExcess?: () => void): () => string {
  const chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    const isOver = size + chunk.length > limit
    size += chunk.length
    if (!isOver) chunks.push(chunk)
    else onExcess?.()
  })
  return () => Buffer.concat(chunks).toString('utf8')
}
