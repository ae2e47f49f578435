// `fairlead backup` and `fairlead restore` as processes, beside `fairlead up` as another.
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { patience } from '../../../test/support/until.ts'
import { UpProcess } from '../../../test/faults/up-process.ts'
import { fairlead, withFolder } from './support/command.ts'

/** One capability: starting all of them takes most of the time. */
const minimal = ['--only', 'references']
const ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap' }

let resources: AsyncDisposableStack
beforeEach(() => {
  resources = new AsyncDisposableStack()
})
afterEach(() => resources.disposeAsync())

async function upOn(data: string): Promise<UpProcess> {
  const up = await UpProcess.start(data, minimal)
  resources.defer(async () => void (await up.stop()))
  return up
}

async function clientOf(up: UpProcess): Promise<Client> {
  const client = await connect({ file: up.kubeconfig })
  resources.use(client.transport)
  return client
}

async function filled(up: UpProcess): Promise<Client> {
  const client = await clientOf(up)
  await client.create({ ...ConfigMap, metadata: { name: 'a', namespace: 'default' }, data: { k: 'v' } })
  return client
}

// Three servers and seven commands, one after the other, each a process.
const several = { timeout: 3 * patience }

test(
  'a backup of a running server is restored into a running server and into the folder of a stopped one',
  several,
  () =>
    withFolder(async (folder) => {
      const file = join(folder, 'all.backup')
      const [one, two, three] = ['one', 'two', 'three'].map((name) => join(folder, name)) as [string, string, string]
      const up = await upOn(one)
      const client = await filled(up)
      const original = await client.get(ConfigMap, 'default/a')

      expect(await fairlead(['backup', file, '--data', one])).toEqual({
        code: 0,
        stdout: expect.stringMatching(
          /^Backed up \d+ objects of https:\/\/127\.0\.0\.1:\d+ at revision \d+ to .*all\.backup \([\d.]+ KiB\)\.\n$/,
        ),
        stderr: '',
      })
      expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
      expect(await readdir(folder)).toEqual(['all.backup', 'one'])

      const refused = await fairlead(['restore', file, '--data', one])
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toContain(
        'The server is not empty: it holds configmaps default/a. Restoring would create 0',
      )
      expect(refused.stderr).toContain('fairlead restore --force')

      await client.delete(ConfigMap, 'default/a')
      const tried = await fairlead(['restore', file, '--kubeconfig', up.kubeconfig, '--force', '--dry-run'])
      expect(tried).toMatchObject({ code: 0, stdout: 'Nothing was changed (--dry-run).\n' })
      expect(tried.stderr).toMatch(/1 objects to create/)
      expect(await client.find(ConfigMap, 'default/a')).toBeUndefined()
      expect((await fairlead(['restore', file, '--data', one, '--force'])).code).toBe(0)
      expect((await client.get(ConfigMap, 'default/a')).metadata.uid).toBe(original.metadata.uid)

      const fresh = await upOn(two)
      expect(await fairlead(['restore', file, '--data', two])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Restored \d+ objects into https:\/\/127\.0\.0\.1:\d+\.\n$/),
      })
      const second = await clientOf(fresh)
      expect((await second.get(ConfigMap, 'default/a')).metadata).toMatchObject({
        uid: original.metadata.uid,
        creationTimestamp: original.metadata.creationTimestamp,
      })

      expect(await fairlead(['restore', file, '--data', three])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Restored \d+ objects into .*three\.\n$/),
      })
      const later = await upOn(three)
      const third = await clientOf(later)
      expect((await third.get(ConfigMap, 'default/a')).metadata.uid).toBe(original.metadata.uid)
    }),
)

test('a data folder without a running server is backed up, also after kill -9', () =>
  withFolder(async (folder) => {
    const [data, file] = [join(folder, 'data'), join(folder, 'cold.backup')]
    const up = await upOn(data)
    await filled(up)
    await up.kill()
    expect(await fairlead(['backup', file, '--data', data])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Backed up \d+ objects of .*data at revision/),
    })
    const again = await fairlead(['backup', file, '--data', data])
    expect(again).toMatchObject({
      code: 2,
      stderr: `fairlead: ${file} exists already: name another file, or replace it with --force\n`,
    })
    expect((await fairlead(['backup', file, '--data', data, '--force'])).code).toBe(0)
    const missing = join(folder, 'missing')
    expect(await fairlead(['backup', join(missing, 'x'), '--data', data])).toMatchObject({
      code: 1,
      stderr: `fairlead: ${join(missing, 'x')} cannot be written: there is no folder ${missing}\n`,
    })
  }))

test('without flags, $KUBECONFIG names the server, and a folder that is named goes first', () =>
  withFolder(async (folder) => {
    const up = await upOn(join(folder, 'data'))
    await filled(up)
    const env = { KUBECONFIG: up.kubeconfig }
    const backup = await fairlead(['backup', 'a.backup'], { cwd: folder, env })
    expect({ code: backup.code, stderr: backup.stderr }).toEqual({ code: 0, stderr: '' })
    expect(backup.stdout).toContain((await clientOf(up)).transport.address)
    const other = await fairlead(['backup', 'b.backup', '--data', 'other'], { cwd: folder, env })
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('there is nothing in') as string })
  }))

test.each([
  ['text', Buffer.from('hello'), 'This is not a backup'],
  ['nothing', Buffer.alloc(0), 'This backup is not complete'],
  ['a newer form', gzipSync('{"product":"fairlead","format":7}\n'), 'This backup was written by a newer Fairlead'],
])('a file with %s is refused and nothing is made', (_, bytes, message) =>
  withFolder(async (folder) => {
    const file = join(folder, 'bad.backup')
    writeFileSync(file, bytes)
    const data = join(folder, 'data')
    const { code, stderr } = await fairlead(['restore', file, '--data', data])
    expect({ code, lines: stderr.trimEnd().split('\n') }).toEqual({
      code: 1,
      lines: [expect.stringContaining(`fairlead: ${file}: ${message}`)],
    })
    expect(existsSync(data)).toBe(false)
  }),
)

test('a missing file or data folder is named in the error', () =>
  withFolder(async (folder) => {
    const nothing = join(folder, 'nothing')
    expect(await fairlead(['backup', join(folder, 'x'), '--data', nothing])).toEqual({
      code: 1,
      stdout: '',
      stderr: `fairlead: there is nothing in ${nothing}: no server runs there and it holds no data. Name another folder with --data, or a server with --kubeconfig.\n`,
    })
    expect(await fairlead(['restore', nothing, '--data', folder])).toEqual({
      code: 2,
      stdout: '',
      stderr: `fairlead: there is no file ${nothing}\n`,
    })
    expect(await fairlead(['backup', '-', '--data', nothing])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'fairlead: a backup is verified before it is complete: name a file in place of -\n',
    })
  }))
