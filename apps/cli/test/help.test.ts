// `--help` of every command: it is there, says what the command does and how to use it first, and loads next to nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { program } from '../src/index.ts'
import { exampleNames } from '../src/up/example-names.ts'
import { sourceLauncher } from '../../../test/support/launcher.ts'
import { fairlead } from './support/command.ts'

type Command = Awaited<ReturnType<typeof program>>

/** Tells the URL of every module that a process loads. */
const witness = `data:text/javascript,${encodeURIComponent(
  "import { registerHooks } from 'node:module'; registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context) } })",
)}`

/** The command at the end of a path. */
function commandAt(command: Command, path: readonly string[]): Command {
  return path.reduce((group, name) => group.commands.find((child) => child.name() === name)!, command)
}

function pathsOf(command: Command, path: readonly string[] = []): readonly (readonly string[])[] {
  const children = command.createHelp().visibleCommands(command)
  return [
    path,
    ...children.filter((child) => child.name() !== 'help').flatMap((child) => pathsOf(child, [...path, child.name()])),
  ]
}

const root = await program('all')
const paths = pathsOf(root)

test('every capability has a command', () => {
  expect(paths.map((path) => path.join(' '))).toEqual(
    expect.arrayContaining(['', 'up', 'metacontroller render', 'supply tree', 'actions run']),
  )
})

test("commands that use a cluster have kubectl's flags", () => {
  const flagged = paths.filter((path) => {
    const flags = commandAt(root, path).options.map(({ long }) => long)
    return flags.includes('--kubeconfig') && flags.includes('--context')
  })
  expect(flagged.map((path) => path.join(' '))).toEqual([
    'doctor',
    'run',
    'simulate',
    'graph',
    'why',
    'backup',
    'restore',
    'metacontroller record',
    'metacontroller drift',
    'metacontroller sync',
    'metacontroller rbac',
    'supply tree',
    ...['get', 'init', 'clone', 'copy', 'pull', 'push'].map((name) => `rpkg ${name}`),
    ...['propose', 'approve', 'reject', 'propose-delete', 'delete', 'tag', 'upgrade'].map((name) => `rpkg ${name}`),
    ...['register', 'get', 'sync', 'unregister'].map((name) => `repo ${name}`),
    ...['plan', 'tree'].map((name) => `variants ${name}`),
    ...['list', 'run', 'why', 'history', 'logs'].map((name) => `actions ${name}`),
  ])
})

/** Modules that help may load: the parser, declarations of commands, and what they need. */
const cheap =
  /\/apps\/cli\/(bin|src)\/|\/src\/commands\/(index|pkg|generate|[\w-]+-commands|[a-z]+\/index)\.ts$|\/(offline\/src\/command-error|controller\/src\/command)\.ts$|\/node_modules\/commander\//

test('the help of `up` names every example', () => {
  let help = ''
  commandAt(root, ['up'])
    .configureOutput({ writeOut: (text) => (help += text) })
    .outputHelp()
  expect(help).toContain(`\nExamples to load: ${exampleNames().join(', ')}.\n`)
})

test.each([
  [['version'], 0, /^fairlead \d+\.\d+\.\d+ \(Node \S+, \w+ \w+\)\n$/, ''],
  [['--version'], 0, /^\d+\.\d+\.\d+\n$/, ''],
  [['-V'], 0, /^\d+\.\d+\.\d+\n$/, ''],
  [['help', 'nosuch'], 2, /^$/, "fairlead: unknown command 'nosuch'\nSee fairlead --help.\n"],
])('%j ends with %i', async (args, code, stdout, stderr) => {
  expect(await fairlead(args)).toEqual({ code, stdout: expect.stringMatching(stdout) as string, stderr })
})

test.each(paths.map((words) => ({ words, command: ['fairlead', ...words].join(' ') })))(
  '$command --help',
  async ({ words }) => {
    const child = spawn(process.execPath, ['--import', witness, sourceLauncher, ...words, '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [stdout, loaded] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (loaded += chunk.toString()))
    await once(child, 'close')
    expect(child.exitCode).toBe(0)
    expect(stdout).toMatch(new RegExp(`Usage: ${['fairlead', ...words].join(' ')}(\\|\\w+)? `))
    const isGroup = words.length === 1 && commandAt(root, words).commands.length > 0
    expect(stdout).toMatch(isGroup ? /^Usage: / : /^[A-Z].*\.\n\nExamples:\n {2}/)
    expect(stdout).not.toContain('default: [')
    const ours = loaded.split('\n').filter((url) => /\/(foundation|capabilities|apps|node_modules)\//.test(url))
    expect(ours.length).toBeGreaterThan(5)
    expect(ours.filter((url) => !cheap.test(url))).toEqual([])
  },
)
