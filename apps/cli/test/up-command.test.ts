// `fairlead up -- COMMAND`, `fairlead up --detach` and `fairlead down`.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect } from '@fairlead/client'
import { UpProcess } from '../../../test/faults/up-process.ts'
import { fairlead, withFolder } from './support/command.ts'

/** A program that prints the objects of a list that the server of KUBECONFIG returns, and exits with 5. */
const lists = `
import { connect } from '@fairlead/client'
const client = await connect()
const { items } = await client.list({ apiVersion: 'v1', kind: 'Namespace' })
console.log(items.map(({ metadata }) => metadata.name).filter((name) => name === 'default').join())
await client.transport[Symbol.asyncDispose]()
process.exit(5)
`

/** One capability, for tests in which it does not matter what runs: starting all of them takes most of the time. */
const minimal = ['--only', 'references']

const node = [process.execPath, '--conditions=@fairlead/source', '--input-type=module', '-e']
const root = join(import.meta.dirname, '../../..')

test('runs a command with KUBECONFIG set, and ends with its exit code; nothing but its output is printed', async () => {
  const { code, stdout, stderr } = await fairlead(['up', '--', ...node, lists], { cwd: root })
  expect({ code, stdout, stderr }).toEqual({
    code: 5,
    stdout: 'default\n',
    stderr: expect.stringMatching(/^Fairlead is ready at https:\/\/127\.0\.0\.1:\d+; running /) as string,
  })
})

test('a command without --data leaves no folder behind', () =>
  withFolder(async (folder) => {
    const env = { TMPDIR: folder }
    const { stdout } = await fairlead(['up', '--', 'sh', '-c', 'echo $KUBECONFIG'], { cwd: folder, env })
    expect(stdout).toMatch(/\/fairlead-\w+\/kubeconfig\n$/)
    expect(readdirSync(folder).filter((name) => name !== 'node-compile-cache')).toEqual([])
  }))

test.each([
  [
    [...minimal, '--', 'no-such-program'],
    127,
    /^Fairlead is ready .*\nfairlead: no-such-program: command not found\n$/,
  ],
  [['npm', 'test'], 2, /^fairlead: unexpected argument npm: write a command to run after --\n$/],
  [['--detach', '--', 'ls'], 2, /^fairlead: --detach runs no command: /],
  [
    ['--tour', '--example', 'actions'],
    2,
    /^fairlead: --tour loads the example snapshot-schedule: leave --tour or --example out\n$/,
  ],
])('up %j ends with %i', async (args, code, stderr) => {
  expect(await fairlead(['up', ...args])).toEqual({ code, stdout: '', stderr: expect.stringMatching(stderr) as string })
})

test('--detach ends when the server is ready; down stops it, and again is no error', () =>
  withFolder(async (folder) => {
    const up = await fairlead(['up', '--detach', '--data', folder, '--port', '0', ...minimal])
    // Paths are quoted where the shell needs it.
    const lines = up.stdout.replaceAll("'", '').trimEnd().split('\n')
    expect({ ...up, stdout: [lines[0], lines.at(-1)] }).toEqual({
      code: 0,
      stdout: [
        `export KUBECONFIG=${join(folder, 'kubeconfig')}`,
        `fairlead down --data ${folder} stops it; its log is ${join(folder, 'up.log')}.`,
      ],
      stderr: '',
    })
    const client = await connect({ file: join(folder, 'kubeconfig') })
    expect((await client.get({ apiVersion: 'v1', kind: 'Namespace' }, 'default')).metadata.name).toBe('default')
    await client.transport[Symbol.asyncDispose]()
    const second = await fairlead(['up', '--detach', '--data', folder])
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use by process') as string })
    const down = await fairlead(['down', '--data', folder])
    expect(down).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^Stopped the server of ${folder} \\(process \\d+\\)\\.\\n$`)) as string,
      stderr: '',
    })
    expect(existsSync(join(folder, 'process.json'))).toBe(false)
    expect(await fairlead(['down', '--data', folder])).toEqual({
      code: 0,
      stdout: `No server runs in ${folder}.\n`,
      stderr: '',
    })
  }))

test('--detach prints why the server did not start', () =>
  withFolder(async (folder) => {
    const up = await fairlead(['up', '--detach', '--data', folder, '--simulate', join(folder, 'none.yaml')])
    expect(up).toEqual({
      code: 2,
      stdout: '',
      stderr: `fairlead: --simulate ${folder}/none.yaml: there is no such file\n`,
    })
    writeFileSync(join(folder, 'bad.yaml'), 'x: 1\n')
    const simulate = ['--simulate', join(folder, 'bad.yaml')]
    expect(await fairlead(['up', '--detach', '--data', folder, ...simulate, ...minimal])).toMatchObject({
      code: 2,
      stderr: `fairlead: ${folder}/bad.yaml:1: rules must be a list; begin each rule with "- "\n`,
    })
  }))

test('down does not stop a process that has the number of a server that was killed', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, minimal)
    const file = join(folder, 'process.json')
    const server = JSON.parse(readFileSync(file, 'utf8')) as { pid: number; url: string }
    await up.kill()
    writeFileSync(file, JSON.stringify({ ...server, pid: process.pid }))
    expect(await fairlead(['down', '--data', folder])).toEqual({
      code: 1,
      stdout: '',
      stderr: `fairlead: the server of ${folder} does not respond at ${server.url}. If process ${process.pid} is it, stop it with \`kill ${process.pid}\`.\n`,
    })
  }))

test('a restart keeps the namespace that was chosen for the context', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'kubeconfig')
    let up = await UpProcess.start(folder, minimal)
    await up.stop()
    const chosen = readFileSync(file, 'utf8').replace(/^( +namespace:) default$/m, '$1 team-a')
    writeFileSync(file, chosen)
    up = await UpProcess.start(folder, minimal)
    await up.stop()
    expect(readFileSync(file, 'utf8')).toMatch(/^ +namespace: team-a$/m)
  }))

test.runIf(existsSync('/proc/self'))('a data folder below /proc is refused in one line', async () => {
  expect(await fairlead(['up', '--data', '/proc/foo/bar'])).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^fairlead: the data folder \/proc\/foo\/bar cannot be used: .* Name another one with --data\.\n$/,
    ) as string,
  })
})
