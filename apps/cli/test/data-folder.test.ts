// The data folder of `fairlead up`: what it accepts and how it writes.
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDataFolder, writeKubeconfig } from '../src/data/data-folder.ts'

let folder: string
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-data-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test('closes a folder of the user to others, and accepts it again', async () => {
  await chmod(folder, 0o777)
  await writeFile(join(folder, 'notes.txt'), 'of the user', { mode: 0o666 })
  openDataFolder(folder)[Symbol.dispose]()
  expect([await modeOf(folder), await modeOf(join(folder, '.gitignore'))]).toEqual([0o700, 0o600])
  openDataFolder(folder)[Symbol.dispose]()
})

test('refuses a store whose keys others may have written', async () => {
  const key = join(folder, 'store', 'ca.key')
  await mkdir(join(folder, 'store'))
  await writeFile(key, 'a key')
  await chmod(key, 0o666)
  expect(() => openDataFolder(folder)).toThrow(`${key} can be written by others`)
  await chmod(key, 0o600)
  openDataFolder(folder)[Symbol.dispose]()
})

test('replaces a link in place of the kubeconfig instead of writing through it', async () => {
  const target = join(folder, 'target')
  await writeFile(target, 'of someone else', { mode: 0o644 })
  using data = openDataFolder(join(folder, 'data'))
  await symlink(target, data.kubeconfig)
  await writeKubeconfig(data, 'the kubeconfig')
  expect(await readFile(target, 'utf8')).toBe('of someone else')
  expect([(await lstat(data.kubeconfig)).isFile(), await modeOf(data.kubeconfig)]).toEqual([true, 0o600])
  expect(await readFile(data.kubeconfig, 'utf8')).toBe('the kubeconfig')
})
