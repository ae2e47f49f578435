// Templates in ytt: the program is run when it is there, with the template on its standard input and a time limit. It reads no files.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { parseYamlDocuments, stringifyJson } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { StampError } from '../engine/templates/stamp.ts'

/** Milliseconds that one template may take. */
const timeLimit = 4000
/** Begins the names of the variables that carry data values. */
const prefix = 'FAIRLEAD'

/** The program: `YTT` of the environment, else `ytt` on the PATH; undefined when there is none. */
export function findYtt(environment: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  const named = environment['YTT']
  if (named !== undefined && named !== '') return named
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, 'ytt')).find(isExecutable)
}

/** Evaluates a template over the context; the first document counts. Throws StampError with the words of the program. */
export async function renderYtt(
  template: string,
  context: JsonObject,
  program: string | undefined,
): Promise<JsonValue> {
  if (program === undefined) {
    throw new StampError(
      'unable to apply ytt template: there is no program ytt beside the controller; install it, set YTT to its path, or write the template as template or expression',
    )
  }
  const { code, out, err } = await run(program, template, context)
  if (code !== 0) throw new StampError(`unable to apply ytt template: ${err}`)
  const [document] = parseYamlDocuments(out)
  return document ?? null
}

interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(program: string, template: string, context: JsonObject): Promise<Outcome> {
  // Values go by the environment of the process: a command line is for everyone to see.
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
      const why = error.name === 'AbortError' ? `it took longer than ${timeLimit} ms` : error.message
      reject(new StampError(`unable to apply ytt template: ${why}`, { cause: error }))
    })
    child.on('close', (code) =>
      resolve({ code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }),
    )
    // A program that ends early leaves the rest of its input unread.
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
