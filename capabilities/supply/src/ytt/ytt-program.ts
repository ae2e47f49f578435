// Finds and runs the ytt program.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { StampError } from '../engine/templates/stamp.ts'

/** Time limit of one run, in milliseconds. */
const timeLimit = 4000
/** Most bytes of output of one run. */
const outputLimit = 8 * 2 ** 20

/** Returns the path of the ytt program: the variable `YTT`, else `ytt` on the PATH; undefined when there is none. */
export function findYtt(environment: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  const named = environment['YTT']
  if (named !== undefined && named !== '') return named
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, 'ytt')).find(isExecutable)
}

/**
 * Runs the program in a folder and returns its output. Throws StampError with its error message; other errors when it
 * could not be run to its end.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  { folder, input }: { readonly folder?: string; readonly input: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    // A process group of its own: a program that others start for it ends with them.
    const child = spawn(program, args, {
      cwd: folder,
      stdio: 'pipe',
      detached: true,
      env: { PATH: process.env['PATH'] },
    })
    const end = (error: Error): void => {
      reject(error)
      child.stdout.destroy()
      child.stderr.destroy()
      if (child.pid !== undefined) killGroup(child.pid)
    }
    const limit = AbortSignal.timeout(timeLimit)
    const onLimit = (): void => end(new Error(`it took longer than ${timeLimit} ms`))
    limit.addEventListener('abort', onLimit)
    const [out, err]: [Buffer[], Buffer[]] = [[], []]
    let size = 0
    const collect = (chunks: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length
      if (size <= outputLimit) chunks.push(chunk)
      else end(new StampError(`unable to apply ytt template: its output is larger than ${outputLimit} bytes`))
    }
    child.stdout.on('data', collect(out))
    child.stderr.on('data', collect(err))
    child.on('error', (error) => {
      limit.removeEventListener('abort', onLimit)
      reject(error)
    })
    child.on('close', (code, signal) => {
      limit.removeEventListener('abort', onLimit)
      if (code === 0) return resolve(Buffer.concat(out).toString())
      if (code === null) return reject(new Error(`it was ended by ${signal}`))
      reject(new StampError(`unable to apply ytt template: ${Buffer.concat(err).toString()}`))
    })
    // Ignore EPIPE: a program that exits early does not read all of its input.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
