// `fairlead up` as a process: what it says when it cannot start, and that what it kept is there again.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { connect as tlsConnect } from 'node:tls'
import { expect, test } from 'vitest'
import { connect, findConnection } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { UpProcess } from '../../../test/faults/up-process.ts'
import { eventually } from '../../../test/support/until.ts'
import { launcher } from '../../../test/support/launcher.ts'
import { fairlead, withFolder } from './support/command.ts'
import type { Ended } from './support/command.ts'

const fixtures = join(import.meta.dirname, 'fixtures')
/** One capability, for tests in which it does not matter what runs: starting all of them takes most of the time. */
const minimal = ['--only', 'references']

const formats = readdirSync(fixtures).filter((name) => /^data-format-\d+\.sql$/.test(name))

function failed(code: number, message: string | RegExp): Ended {
  return {
    code,
    stdout: '',
    stderr: typeof message === 'string' ? `fairlead: ${message}\n` : expect.stringMatching(message),
  }
}

test('a port in use is an error that names it and says what to do', () =>
  withFolder(async (folder) => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    try {
      const { port } = other.address() as AddressInfo
      expect(await fairlead(['up', '--data', folder, '--port', String(port)])).toEqual(
        failed(1, `port ${port} is taken: leave --port out to get the next free one, or stop what listens there`),
      )
    } finally {
      other.close()
    }
  }))

test.each([
  [['--port', '70000'], '--port 70000 is not a port: write a number from 0 to 65535 (0 takes any free one)'],
  [
    ['--only', 'map,nope'],
    /^fairlead: --only map,nope: there is no capability nope; there are metacontroller, supply, .*\n$/,
  ],
  [['--example', 'nope'], /^fairlead: there is no example nope; there are: .*snapshot-schedule.*\n$/],
  [['--simulate', '/nope.yaml'], '--simulate /nope.yaml: there is no such file'],
  [['--simulate', '/'], '--simulate / is a folder: name a file with rules'],
  [
    ['--only', ','],
    /^fairlead: --only names no capability: write one or more of metacontroller, supply, .*, or leave it out\n$/,
  ],
  [['--run-jobs', 'lxc'], '--run-jobs lxc: write process, podman, docker or off'],
  [['--max-stored-bytes', '0'], '--max-stored-bytes 0: write a number of bytes, such as 512Mi or 2Gi'],
  [['--set', 'supply.colour=red'], '--set supply.colour: there is no such setting; supply has no settings'],
  [
    ['--set', 'aws.colour=red'],
    /^fairlead: --set aws\.colour: there is no such setting; the settings of aws are deletion-policy, .*\n$/,
  ],
  [
    ['--only', 'references', '--set', 'aws.deletion-policy=retain'],
    '--set aws.deletion-policy: aws does not run: leave --set out, or add aws to --only',
  ],
  [
    ['--only', 'aws', '--port', '0', '--set', 'aws.deletion-policy=keep'],
    '--set aws.deletion-policy=keep: write delete or retain',
  ],
  [['--resolve', 'x'], '--resolve x: write name=host:port, for example my-hook.my-namespace=127.0.0.1:8080'],
])('%j is a mistake of usage', (args, message) =>
  withFolder(async (folder) => {
    expect(await fairlead(['up', '--data', folder, ...args])).toEqual(failed(2, message))
  }),
)

test('an unknown log level is a usage error', () =>
  withFolder(async (folder) => {
    const env = { FAIRLEAD_LOG_LEVEL: 'loud' }
    expect(await fairlead(['up', '--data', folder, '--port', '0'], { env })).toEqual(
      failed(2, 'FAIRLEAD_LOG_LEVEL=loud: write debug, info, warn, error, or leave it out'),
    )
  }))

test('an unknown flag and an unknown command are usage errors with a suggestion', async () => {
  expect(await fairlead(['up', '--prot', '1'])).toEqual({
    code: 2,
    stdout: '',
    stderr: "fairlead: unknown option '--prot'\n(Did you mean --port?)\nSee fairlead up --help.\n",
  })
  expect(await fairlead(['upp'])).toEqual({
    code: 2,
    stdout: '',
    stderr: "fairlead: unknown command 'upp'\n(Did you mean up?)\nSee fairlead --help.\n",
  })
  expect(await fairlead(['map', 'rendr'])).toEqual({
    code: 2,
    stdout: '',
    stderr: "fairlead: unknown command 'rendr'\n(Did you mean render?)\nSee fairlead metacontroller --help.\n",
  })
})

test('a data folder that cannot be used is an error that names it', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const data of [file, join(file, 'below')]) {
      const { code, stderr } = await fairlead(['up', '--data', data])
      expect({ code, lines: stderr.trimEnd().split('\n') }).toEqual({
        code: 1,
        lines: [
          expect.stringMatching(
            /^fairlead: the data folder .*file(\/below)? cannot be used: .* Name another one with --data\.$/,
          ),
        ],
      })
    }
    const damaged = join(folder, 'damaged')
    mkdirSync(join(damaged, 'store'), { recursive: true })
    writeFileSync(join(damaged, 'store', 'objects.sqlite'), 'no database at all '.repeat(1000))
    const { code, stderr } = await fairlead(['up', '--data', damaged, ...minimal])
    expect({ code, lines: stderr.trimEnd().split('\n') }).toEqual({
      code: 1,
      lines: [
        expect.stringMatching(
          /^fairlead: The data folder .*damaged\/store could not be opened: .*\. Use another folder; a backup can be restored into a new one\.$/,
        ),
      ],
    })
  }))

test('the tour starts and stops without a warning', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, ['--tour'])
    expect(await up.stop()).toEqual({ code: 0, output: 'Stopping.\n' })
  }))

test('an invalid simulate file is an error with file, line and the expected value', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'rules.yaml')
    const message = async (text: string): Promise<Ended> => {
      writeFileSync(file, text)
      return fairlead(['up', '--in-memory', '--port', '0', '--simulate', file, ...minimal])
    }
    expect(await message('apiVersion: v1\n')).toEqual(
      failed(2, `${file}:1: rules must be a list; begin each rule with "- "`),
    )
    const rule = '- apiVersion: v1\n  kind: Pod\n  status: {phase: Running}\n'
    expect(await message(`${rule}- apiVersion: v1\n  kind: Pod\n  delay: soon\n  status: {}\n`)).toEqual(
      failed(2, new RegExp(`^fairlead: ${file}:\\d+: .*soon.*\\n$`)),
    )
    expect(await message(`${rule}  - x: [`)).toEqual(failed(2, new RegExp(`^fairlead: ${file}:\\d+: .*\\n$`)))
  }))

test('a kubeconfig that cannot be written is an error that names it', () =>
  withFolder(async (folder) => {
    mkdirSync(join(folder, 'kubeconfig'))
    const { code, stdout, stderr } = await fairlead(['up', '--data', folder, '--port', '0', ...minimal])
    expect({ code, stdout, stderr }).toEqual(
      failed(
        1,
        new RegExp(
          `^fairlead: the kubeconfig ${folder}/kubeconfig cannot be written: .*\\. Free disk space, or name another folder with --data\\.\\n$`,
        ),
      ),
    )
  }))

test('--in-memory leaves no files and does not touch the kubeconfig of the default data folder', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(undefined, [], { cwd: folder, env: { ...process.env, TMPDIR: folder } })
    const left = (): string[] => readdirSync(folder).filter((name) => name !== 'node-compile-cache')
    expect(left()).toEqual([basename(dirname(up.kubeconfig))])
    const client = await connect({ file: up.kubeconfig })
    const kind = { apiVersion: 'config.porch.kpt.dev/v1alpha1', kind: 'Repository' }
    const repository = { ...kind, metadata: { name: 'blueprints', namespace: 'default' }, spec: { type: 'git' } }
    await client.create(repository as KubeObject)
    await eventually(async () =>
      expect(await client.get(kind, 'default/blueprints')).toMatchObject({
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    )
    await client.transport[Symbol.asyncDispose]()
    expect(await up.stop()).toEqual({ code: 0, output: expect.stringMatching(/Stopping\.\n$/) as string })
    expect(left()).toEqual([])
  }))

test('--in-memory with --data writes only the kubeconfig into the folder', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, ['--in-memory', ...minimal])
    expect(up.kubeconfig).toBe(join(folder, 'kubeconfig'))
    expect(readdirSync(folder).sort()).toEqual(['.gitignore', 'kubeconfig', 'process.json'])
    await up.stop()
  }))

test('SIGTERM stops the server and releases the data folder', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, minimal)
    expect(await up.stop('SIGTERM')).toEqual({ code: 0, output: expect.stringMatching(/Stopping\.\n$/) as string })
    expect(existsSync(join(folder, 'store', 'owner.json'))).toBe(false)
  }))

test('a second signal stops the server without waiting for open requests', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, minimal)
    await using _request = await endlessRequest(up)
    up.signal('SIGTERM')
    await up.says('Stopping.')
    // Signals of one Ctrl-C count as one: a user presses again.
    const pressing = setInterval(() => up.signal('SIGINT'), 100)
    expect(await up.stop('SIGINT')).toEqual({
      code: 130,
      output: expect.stringMatching(/Stopping\.\nStopped at once\.\n$/) as string,
    })
    clearInterval(pressing)
  }))

test('two signals that arrive together stop the server once, and cleanly', () =>
  withFolder(async (folder) => {
    const up = await UpProcess.start(folder, minimal)
    up.signal('SIGTERM')
    expect(await up.stop('SIGINT')).toEqual({ code: 0, output: expect.stringMatching(/Stopping\.\n$/) as string })
    expect(existsSync(join(folder, 'store', 'owner.json'))).toBe(false)
  }))

/** Lets a Node think that it is too old to run Fairlead, and cannot be replaced by the one beside it. */
const tooOld = `data:text/javascript,${encodeURIComponent(
  "if (process.env.FAIRLEAD_LAUNCHED !== '1') { Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } }); process.execve = undefined }",
)}`

test('a server stops when the launcher that an older Node runs is killed', () =>
  withFolder(async (folder) => {
    const env = { ...process.env, NODE_OPTIONS: `--import=${tooOld}` }
    const up = await UpProcess.start(folder, minimal, { env })
    const { pid } = JSON.parse(readFileSync(join(folder, 'process.json'), 'utf8')) as { pid: number }
    expect(pid).not.toBe(up.pid)
    await up.kill()
    // Its output is closed: the server has ended, or is about to.
    const next = await UpProcess.start(folder, minimal)
    expect((await next.stop()).code).toBe(0)
  }))

test('a reader that closes the pipe ends a command without a word', async () => {
  const child = spawn(process.execPath, [launcher, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  expect({ code, errors }).toEqual({ code: 141, errors: '' })
})

/** A request whose body does not come to an end: closing waits for it. */
async function endlessRequest(up: UpProcess): Promise<AsyncDisposable> {
  const { server } = await findConnection({ file: up.kubeconfig })
  const { hostname, port } = new URL(server)
  const socket = tlsConnect({ host: hostname, port: Number(port), rejectUnauthorized: false })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  socket.write('POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{')
  return {
    async [Symbol.asyncDispose]() {
      socket.destroy()
    },
  }
}

test('a second server on a data folder is refused with the process of the first, which keeps running', () =>
  withFolder(async (folder) => {
    const first = await UpProcess.start(folder, minimal)
    try {
      expect(await fairlead(['up', '--data', folder, ...minimal])).toEqual(
        failed(
          1,
          new RegExp(
            `^fairlead: The data folder ${folder}/store is in use by process ${first.pid}, started \\d{4}-.*Z\\. Stop it, or use another folder\\.\\n$`,
          ),
        ),
      )
      const kubeconfig = readFileSync(first.kubeconfig, 'utf8')
      expect(await fairlead(['up', '--data', folder, '--in-memory', '--port', '0', ...minimal])).toEqual(
        failed(
          1,
          new RegExp(
            `^fairlead: the data folder ${folder} is in use by process ${first.pid}, started \\d{4}-.*Z\\. Stop it, or name another folder with --data\\.\\n$`,
          ),
        ),
      )
      expect(readFileSync(first.kubeconfig, 'utf8')).toBe(kubeconfig)
      const client = await connect({ file: first.kubeconfig })
      expect((await client.get({ apiVersion: 'v1', kind: 'Namespace' }, 'default')).kind).toBe('Namespace')
      await client.transport[Symbol.asyncDispose]()
    } finally {
      await first.stop()
    }
  }))

test('a data folder of a newer version is refused in one line and left unchanged', () =>
  withFolder(async (folder) => {
    const store = join(folder, 'store')
    mkdirSync(store)
    const file = join(store, 'objects.sqlite')
    {
      using database = new DatabaseSync(file)
      database.exec('create table later (a); pragma user_version = 99')
    }
    expect(await fairlead(['up', '--data', folder, ...minimal])).toEqual(
      failed(
        1,
        /^fairlead: The data in .*\/store has format 99, written by a newer Fairlead; this one reads up to \d+\. Use that version, or another folder\.\n$/,
      ),
    )
    using database = new DatabaseSync(file)
    expect(database.prepare('select name from sqlite_master').all()).toEqual([{ name: 'later' }])
  }))

test.each(formats)('a data folder of %s is opened, also again after kill -9', (format) =>
  withFolder(async (folder) => {
    const store = join(folder, 'store')
    mkdirSync(store)
    {
      using database = new DatabaseSync(join(store, 'objects.sqlite'))
      database.exec(readFileSync(join(fixtures, format), 'utf8'))
    }
    const read = async (up: UpProcess): Promise<KubeObject[]> => {
      const client = await connect({ file: up.kubeconfig })
      try {
        return [
          await client.get({ apiVersion: 'v1', kind: 'ConfigMap' }, 'team/settings'),
          await client.get({ apiVersion: 'example.com/v1', kind: 'Widget' }, 'team/one'),
        ]
      } finally {
        await client.transport[Symbol.asyncDispose]()
      }
    }
    let up = await UpProcess.start(folder)
    const kept = await read(up)
    expect(kept).toEqual([
      expect.objectContaining({ kind: 'ConfigMap', data: { colour: 'green' } }),
      expect.objectContaining({ kind: 'Widget', spec: { size: 9007199254740993n } }),
    ])
    await up.kill()
    up = await UpProcess.start(folder, minimal)
    try {
      expect(await read(up)).toEqual(kept)
    } finally {
      await up.stop()
    }
  }),
)
