// Where the clients come from: the Node one is a dependency, the Python one a venv, the Go one is built from go/, the
// Java one from java/. What is absent is skipped with one line.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { ClientCommand } from './client-program.ts'

const here = import.meta.dirname
const pythonClient = 'kubernetes==35.0.0'
const minutes = 60_000

/** A client that can run here, or why it cannot. */
export type FoundClient = { readonly command: ClientCommand } | { readonly skipped: string }

function succeeds(command: string, args: readonly string[], cwd?: string): boolean {
  return (
    spawnSync(command, args, { stdio: 'ignore', timeout: 5 * minutes, ...(cwd === undefined ? {} : { cwd }) })
      .status === 0
  )
}

export function nodeClient(): FoundClient {
  return {
    command: { name: '@kubernetes/client-node', command: process.execPath, args: [join(here, 'node/client.ts')] },
  }
}

/** The installed python3-kubernetes, else a venv in the temporary folder, kept for the next run. */
export function pythonClientProgram(): FoundClient {
  const python = process.env['PYTHON'] ?? 'python3'
  if (!succeeds(python, ['--version']))
    return { skipped: 'python3 is not here (PYTHON names one): the Python client is skipped' }
  const program = (command: string): FoundClient => ({
    command: { name: 'kubernetes (Python)', command, args: [join(here, 'python/client.py')] },
  })
  if (succeeds(python, ['-c', 'import kubernetes'])) return program(python)
  const venv = join(tmpdir(), `fairlead-${pythonClient}`)
  const inside = join(venv, 'bin/python')
  if (existsSync(inside) && succeeds(inside, ['-c', 'import kubernetes'])) return program(inside)
  if (succeeds(python, ['-m', 'venv', venv]) && succeeds(inside, ['-m', 'pip', 'install', '--quiet', pythonClient]))
    return program(inside)
  return { skipped: `${pythonClient} cannot be installed here: the Python client is skipped` }
}

/** A program of ours on client-go, built into a folder. Throws when it does not compile. */
export function goClient(folder: string): FoundClient {
  const source = join(here, 'go')
  if (!succeeds('go', ['version'])) return { skipped: 'go is not here: client-go is skipped' }
  if (!succeeds('go', ['mod', 'download'], source))
    return { skipped: 'the modules of client-go cannot be had here: client-go is skipped' }
  const binary = join(folder, 'client')
  const built = spawnSync('go', ['build', '-mod=readonly', '-o', binary, '.'], {
    cwd: source,
    encoding: 'utf8',
    timeout: 10 * minutes,
  })
  if (built.status !== 0) throw new Error(`test/clients/go does not build:\n${built.stderr}`)
  return { command: { name: 'client-go', command: binary, args: [] } }
}

/** A program of ours on the client of fabric8, built into a folder. Throws when it does not compile. */
export function javaClient(folder: string): FoundClient {
  const source = join(here, 'java')
  for (const program of ['javac', 'mvn'])
    if (!succeeds(program, ['--version']))
      return { skipped: `${program} is not here: the client of fabric8 is skipped` }
  const list = join(folder, 'class-path')
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath'
  if (!succeeds('mvn', ['--batch-mode', '--file', join(source, 'pom.xml'), goal, `-Dmdep.outputFile=${list}`]))
    return { skipped: 'the client of fabric8 cannot be had here: it is skipped' }
  const classes = join(folder, 'classes')
  const classPath = [classes, readFileSync(list, 'utf8').trim()].join(delimiter)
  const built = spawnSync('javac', ['-d', classes, '-cp', classPath, join(source, 'Client.java')], {
    encoding: 'utf8',
    timeout: 5 * minutes,
  })
  if (built.status !== 0) throw new Error(`test/clients/java does not compile:\n${built.stderr}`)
  return { command: { name: 'fabric8 (Java)', command: 'java', args: ['-cp', classPath, 'Client'] } }
}
