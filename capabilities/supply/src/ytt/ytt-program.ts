// Renders ytt templates with the ytt program, if it is installed: template on standard input, data in the environment,
// a time limit, no files.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { parseYamlDocuments, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { StampError } from '../engine/templates/stamp.ts'

/** Time limit of one template, in milliseconds. */
const timeLimit = 4000
/** Prefix of the environment variables with data values. */
const prefix = 'FAIRLEAD'

/** Returns the path of the ytt program: the variable `YTT`, else `ytt` on the PATH; undefined when there is none. */
export function findYtt(environment: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  const named = environment['YTT']
  if (named !== undefined && named !== '') return named
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, 'ytt')).find(isExecutable)
}

/**
 * Renders a template with the context as data values and returns the first document. Throws StampError with the
 * program's error message.
 */
export async function renderYtt(
  template: string,
  context: JsonObject,
  program: string | undefined,
): Promise<JsonValue> {
  if (program === undefined) {
    throw new StampError(
      'unable to apply ytt template: the ytt program is not installed where the controller runs; install it, set YTT to its path, or use template or expression',
    )
  }
  const { code, out, err } = await run(program, template, context)
  if (code !== 0) throw new StampError(`unable to apply ytt template: ${err}`)
  const [document] = parseYamlDocuments(out)
  return document ?? null
}

/** Exit code and output of the program. */
interface ProgramResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(program: string, template: string, context: JsonObject): Promise<ProgramResult> {
  // Values are passed in the environment: other users of the machine can read command lines.
  const values = Object.entries(context).map(([name, value]) => [`${prefix}_${name}`, stringifyJson(value as object)])
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['-f', '-', '--data-values-env-yaml', prefix], {
      stdio: 'pipe',
      signal: AbortSignal.timeout(timeLimit),
      env: { PATH: process.env['PATH'], ...Object.fromEntries(values) },
    })
    const [out, err]: [Buffer[], Buffer[]] = [[], []]
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.on('error', (error) => {
      const problem = error.name === 'AbortError' ? `it took longer than ${timeLimit} ms` : error.message
      reject(new StampError(`unable to apply ytt template: ${problem}`, { cause: error }))
    })
    child.on('close', (code) =>
      resolve({ code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }),
    )
    // Ignore EPIPE: a program that exits early does not read all of its input.
    child.stdin.on('error', () => {})
    child.stdin.end(template)
  })
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
