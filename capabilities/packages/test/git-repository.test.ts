// Git access on real repositories in temporary folders.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { AsyncDisposableStack } from '@fairlead/kube'
import { fetchPackage, GitError, GitRepository } from '@fairlead/packages'
import type { PackageFiles } from '@fairlead/packages'
import { pkgCommands } from '@fairlead/packages/commands'
import { eventually } from '../../../test/support/until.ts'

const { signal } = new AbortController()
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-test-'))
  folders.push(folder)
  return folder
}

const porch = { name: 'Package Orchestration Service', email: 'porch@kpt.dev', seconds: 1_700_000_000 }

async function committed(
  repository: GitRepository,
  files: PackageFiles,
  parents: readonly string[] = [],
  path = 'web',
): Promise<string> {
  return repository.commit(
    { message: 'Add\n', author: porch, committer: porch, parents, changes: [{ path, content: files }] },
    signal,
  )
}

const web: PackageFiles = new Map<string, string | Uint8Array>([
  ['Kptfile', 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n'],
  ['a "quoted" name.yaml', 'a: 1\n'],
  ['sub/ünïcode.yaml', 'b: 2'],
  ['logo.png', new Uint8Array([0, 1, 2, 255])],
])

function asRecord(files: PackageFiles | undefined): Record<string, unknown> {
  return Object.fromEntries(
    [...(files ?? [])].map(([path, content]) => [path, typeof content === 'string' ? content : [...content]]),
  )
}

test('reads back the files of a commit, binary content and unusual names included', async () => {
  using repository = await GitRepository.open(temporary(), signal)
  const commit = await committed(repository, web)
  await repository.update([{ ref: 'refs/heads/main', expected: undefined, to: commit }], signal)
  expect(asRecord(await repository.files('refs/heads/main', 'web'))).toEqual(asRecord(web))
  expect(await repository.files('refs/heads/main', 'other')).toBeUndefined()
  expect([...(await repository.refs(signal)).values()]).toEqual([
    {
      ref: 'refs/heads/main',
      hash: commit,
      commit,
      message: 'Add\n',
      authorName: porch.name,
      authorEmail: porch.email,
      authoredAt: porch.seconds,
    },
  ])
})

test('leaves no ref behind when it writes a commit', async () => {
  const folder = temporary()
  using repository = await GitRepository.open(folder, signal)
  await committed(repository, web)
  expect(execFileSync('git', ['for-each-ref'], { cwd: folder }).toString()).toBe('')
})

test('replaces the folder of a package and keeps the others', async () => {
  using repository = await GitRepository.open(temporary(), signal)
  const first = await committed(repository, web)
  const second = await committed(repository, new Map([['x', '1']]), [first], 'other')
  const third = await committed(repository, new Map([['Kptfile', 'new']]), [second])
  expect(asRecord(await repository.files(third, ''))).toEqual({ 'other/x': '1', 'web/Kptfile': 'new' })
})

test('writes objects that git finds sound, in the order of its trees, and the same as git would write', async () => {
  const folder = temporary()
  using repository = await GitRepository.open(folder, signal)
  const names = ['a', 'a.b', 'a-b', 'a0', 'b/c/d', 'b.c', 'b/c.d', 'b-', 'ü', 'Z', 'large']
  const files = new Map(names.map((name) => [name, name === 'large' ? 'x'.repeat(200_000) : name]))
  const first = await committed(repository, files, [], 'a')
  const second = await committed(repository, new Map([['x', '1']]), [first], 'a.b')
  const third = await committed(repository, files, [second], 'a-b/inner')
  await repository.update([{ ref: 'refs/heads/main', expected: undefined, to: third }], signal)
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: folder }).toString().trim()
  expect(git('fsck', '--full', '--strict', '--no-dangling')).toBe('')
  const index = { ...process.env, GIT_INDEX_FILE: join(folder, 'test-index') }
  execFileSync('git', ['read-tree', third], { cwd: folder, env: index })
  expect(execFileSync('git', ['write-tree'], { cwd: folder, env: index }).toString().trim()).toBe(
    git('rev-parse', `${third}^{tree}`),
  )
  expect(git('ls-tree', '-r', '--name-only', third).split('\n')).toHaveLength(2 * names.length + 1)
})

test('changes refs again after a refused change, in the same process of git or another', async () => {
  using repository = await GitRepository.open(temporary(), signal)
  const one = await committed(repository, web)
  const two = await committed(repository, web, [one])
  for (const ref of ['refs/heads/a', 'refs/heads/b', 'refs/heads/c']) {
    await repository.update([{ ref, expected: undefined, to: one }], signal)
    await expect(repository.update([{ ref, expected: two, to: one }], signal)).rejects.toMatchObject({
      code: 'RefChanged',
    })
    await repository.update([{ ref, expected: one, to: two }], signal)
  }
  expect([...(await repository.refs(signal)).values()].map(({ commit }) => commit)).toEqual([two, two, two])
})

test('changes refs whose locks a machine left behind when it stopped', async () => {
  const folder = temporary()
  const first = await GitRepository.open(folder, signal)
  const one = await committed(first, web)
  for (const ref of ['refs/heads/a', 'refs/heads/b'])
    await first.update([{ ref, expected: undefined, to: one }], signal)
  first[Symbol.dispose]()
  execFileSync('git', ['pack-refs', '--all'], { cwd: folder })
  for (const lock of ['refs/heads/a.lock', 'packed-refs.lock']) {
    writeFileSync(join(folder, lock), '')
    utimesSync(join(folder, lock), 1_700_000_000, 1_700_000_000)
  }
  using repository = await GitRepository.open(folder, signal)
  const two = await committed(repository, web, [one])
  const changes = [
    { ref: 'refs/heads/a', expected: one, to: two },
    { ref: 'refs/heads/b', expected: one, to: undefined },
  ]
  await repository.update(changes, signal)
  expect([...(await repository.refs(signal)).values()].map(({ ref, commit }) => [ref, commit])).toEqual([
    ['refs/heads/a', two],
  ])
})

test('reads a remote for the first time and again, and sees the refs that were deleted', async () => {
  const remote = { url: temporary() }
  using origin = await GitRepository.open(remote.url, signal)
  using copy = await GitRepository.open(temporary(), signal)
  await copy.fetch(remote, signal)
  expect((await copy.refs(signal)).size).toBe(0)
  const commit = await committed(origin, web)
  const created = ['refs/heads/main', 'refs/heads/drafts/web/one', 'refs/tags/web/v1'].map((ref) => ({
    ref,
    expected: undefined,
    to: commit,
  }))
  await origin.update(created, signal)
  await copy.fetch(remote, signal)
  expect([...(await copy.refs(signal)).keys()].toSorted()).toEqual(created.map(({ ref }) => ref).toSorted())
  expect(asRecord(await copy.files(commit, 'web'))).toEqual(asRecord(web))
  await origin.update([{ ref: 'refs/heads/drafts/web/one', expected: commit, to: undefined }], signal)
  await copy.fetch(remote, signal)
  expect([...(await copy.refs(signal)).keys()]).toEqual(['refs/heads/main', 'refs/tags/web/v1'])
})

test('refuses a ref update when a ref has another value, and changes none of the others', async () => {
  using repository = await GitRepository.open(temporary(), signal)
  const one = await committed(repository, web)
  const two = await committed(repository, web, [one])
  await repository.update([{ ref: 'refs/heads/main', expected: undefined, to: one }], signal)
  const refused = repository.update(
    [
      { ref: 'refs/heads/other', expected: undefined, to: two },
      { ref: 'refs/heads/main', expected: two, to: one },
    ],
    signal,
  )
  await expect(refused).rejects.toMatchObject({ code: 'RefChanged' })
  await expect(
    repository.update([{ ref: 'refs/heads/main', expected: undefined, to: two }], signal),
  ).rejects.toMatchObject({ code: 'RefChanged' })
  expect([...(await repository.refs(signal)).keys()]).toEqual(['refs/heads/main'])
})

test.each(['../escape', '/absolute', 'a/../../b', '.git/config', 'a//b', '', 'a\\b', '.GIT/hooks/x'])(
  'refuses to write the path %j',
  async (path) => {
    using repository = await GitRepository.open(temporary(), signal)
    await expect(committed(repository, new Map([[path, 'x']]))).rejects.toMatchObject({ code: 'InvalidContent' })
  },
)

test('reads and writes a package of 20,000 files', async () => {
  using repository = await GitRepository.open(temporary(), signal)
  const files = new Map(Array.from({ length: 20_000 }, (_, n) => [`folder-${n % 50}/file-${n}.yaml`, `n: ${n % 10}\n`]))
  const commit = await committed(repository, files)
  expect((await repository.files(commit, 'web'))?.size).toBe(20_000)
})

test('packs many loose objects in the background, those of no ref included, while commits go on', async () => {
  const folder = temporary()
  using repository = await GitRepository.open(folder, signal)
  const first = await committed(repository, web)
  const files = new Map(Array.from({ length: 2_100 }, (_, n) => [`file-${n}.yaml`, `n: ${n}\n`]))
  await repository.update([{ ref: 'refs/heads/first', expected: undefined, to: first }], signal)
  const many = await committed(repository, files)
  const later = await Promise.all(
    Array.from({ length: 10 }, (_, n) => committed(repository, new Map([...web, ['n.yaml', `later: ${n}\n`]]), [many])),
  )
  await eventually(() => {
    const counts = execFileSync('git', ['count-objects', '-v'], { cwd: folder, encoding: 'utf8' })
    expect(Number(/^packs: (\d+)/m.exec(counts)?.[1])).toBe(1)
    expect(Number(/^count: (\d+)/m.exec(counts)?.[1])).toBeLessThan(100)
    expect(readFileSync(join(folder, 'packed-refs'), 'utf8')).toContain(`${first} refs/heads/first`)
  })
  // Refs that are packed change, and go, as loose ones do.
  await repository.update([{ ref: 'refs/heads/first', expected: first, to: many }], signal)
  expect((await repository.refs(signal)).get('refs/heads/first')?.commit).toBe(many)
  await repository.update([{ ref: 'refs/heads/first', expected: many, to: undefined }], signal)
  expect((await repository.refs(signal)).size).toBe(0)
  using again = await GitRepository.open(folder, signal)
  for (const reader of [repository, again]) {
    expect((await reader.files(first, 'web'))?.size).toBe(web.size)
    expect(await reader.files(many, 'web')).toEqual(files)
    for (const commit of later) expect((await reader.files(commit, 'web'))?.size).toBe(web.size + 1)
  }
  execFileSync('git', ['fsck', '--full', '--strict', '--no-dangling'], { cwd: folder })
})

test('says which file of a package is too large, when it is read and when it is written', async () => {
  const folder = temporary()
  const message = 'the file large.yaml has 52428800 bytes, which exceeds the limit of 10485760'
  using repository = await GitRepository.open(folder, signal)
  const content = Buffer.alloc(50 * 1024 * 1024, 'x')
  await expect(committed(repository, new Map([['large.yaml', content]]))).rejects.toMatchObject({
    code: 'TooLarge',
    message,
  })
  const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: folder, input: content }).toString().trim()
  const tree = execFileSync('git', ['mktree'], { cwd: folder, input: `100644 blob ${blob}\tlarge.yaml\n` })
  const commit = await repository.commit(
    {
      message: 'Add\n',
      author: porch,
      committer: porch,
      parents: [],
      changes: [{ path: 'web', content: { tree: tree.toString().trim() } }],
    },
    signal,
  )
  await expect(repository.files(commit, 'web')).rejects.toMatchObject({ code: 'TooLarge', message })
})

test('refuses a path that is a file and a folder', async () => {
  using repository = await GitRepository.open(temporary(), signal)
  const files = new Map([
    ['a', '1'],
    ['a/b', '2'],
  ])
  await expect(committed(repository, files)).rejects.toThrow('a is a file and cannot be a folder of a/b')
})

test('pushes with a lease, and refuses when the remote has moved', async () => {
  const remote = { url: temporary() }
  using origin = await GitRepository.open(remote.url, signal)
  using clone = await GitRepository.open(temporary(), signal)
  const one = await committed(clone, web)
  await clone.push(remote, [{ ref: 'refs/heads/main', expected: undefined, to: one }], signal)
  const others = await committed(origin, new Map([['Kptfile', 'theirs']]), [one])
  await origin.update([{ ref: 'refs/heads/main', expected: one, to: others }], signal)
  const ours = await committed(clone, new Map([['Kptfile', 'ours']]), [one])
  const changes = [
    { ref: 'refs/tags/web/v1', expected: undefined, to: ours },
    { ref: 'refs/heads/main', expected: one, to: ours },
  ]
  await expect(clone.push(remote, changes, signal)).rejects.toMatchObject({ code: 'RefChanged' })
  expect([...(await origin.refs(signal)).values()].map(({ ref, commit }) => [ref, commit])).toEqual([
    ['refs/heads/main', others],
  ])
  await clone.fetch(remote, signal)
  expect((await clone.refs(signal)).get('refs/heads/main')?.commit).toBe(others)
})

test('runs no hook of a repository on this machine', async () => {
  const folder = temporary()
  const remote = { url: join(folder, 'origin.git') }
  using origin = await GitRepository.open(remote.url, signal)
  const proof = join(folder, 'proof')
  for (const hook of ['pre-receive', 'update', 'post-update', 'reference-transaction']) {
    mkdirSync(join(remote.url, 'hooks'), { recursive: true })
    writeFileSync(join(remote.url, 'hooks', hook), `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 })
  }
  using clone = await GitRepository.open(join(folder, 'clone'), signal)
  const commit = await committed(clone, web)
  await clone.push(remote, [{ ref: 'refs/heads/main', expected: undefined, to: commit }], signal)
  expect((await origin.refs(signal)).size).toBe(1)
  expect(() => readFileSync(proof)).toThrow('ENOENT')
})

test.each([
  ['ext::sh -c touch% /tmp/x', 'UnsupportedAddress'],
  ['--upload-pack=touch', 'UnsupportedAddress'],
  ['ssh://-oProxyCommand=touch/x', 'UnsupportedAddress'],
  ['https://user:hunter2@example.test/x.git', 'UnsupportedAddress'],
  ['relative/folder', 'UnsupportedAddress'],
  ['http://169.254.169.254/latest/x.git', 'UnsupportedAddress'],
  ['http://2852039166/x.git', 'UnsupportedAddress'],
  ['git@169.254.169.254:x.git', 'UnsupportedAddress'],
  ['ssh://git@[fe80::1]/x.git', 'UnsupportedAddress'],
])('refuses the address %j', async (url, code) => {
  const fetched = fetchPackage({ url }, { ref: 'main', directory: '/' }, signal)
  await expect(fetched).rejects.toMatchObject({ code })
  await expect(fetched).rejects.not.toThrow('hunter2')
})

test('says which symbolic link keeps a package from being read', async () => {
  const folder = temporary()
  const git = (...args: readonly string[]): Buffer => execFileSync('git', args, { cwd: folder })
  git('init', '--quiet', '-b', 'main')
  mkdirSync(join(folder, 'web'))
  writeFileSync(join(folder, 'web', 'Kptfile'), 'kind: Kptfile\n')
  symlinkSync('/etc/passwd', join(folder, 'web', 'secret.yaml'))
  git('add', '.')
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'link')
  await expect(fetchPackage({ url: folder }, { ref: 'main', directory: 'web' }, signal)).rejects.toMatchObject({
    code: 'InvalidContent',
    message: expect.stringContaining('secret.yaml is a symbolic link') as string,
  })
})

test('fetches a package by branch, tag and commit, and says what is missing', async () => {
  const url = temporary()
  using origin = await GitRepository.open(url, signal)
  const commit = await committed(origin, web)
  await origin.update(
    [
      { ref: 'refs/heads/main', expected: undefined, to: commit },
      { ref: 'refs/tags/web/v1', expected: undefined, to: commit },
    ],
    signal,
  )
  for (const ref of ['main', 'web/v1', commit]) {
    const fetched = await fetchPackage({ url }, { ref, directory: '/web/' }, signal)
    expect([fetched.commit, asRecord(fetched.files)]).toEqual([commit, asRecord(web)])
  }
  await expect(fetchPackage({ url }, { ref: 'none', directory: 'web' }, signal)).rejects.toMatchObject({
    code: 'RefNotFound',
    message: `the repository ${url} has no branch, tag or commit none`,
  })
  await expect(fetchPackage({ url }, { ref: 'main', directory: 'gone' }, signal)).rejects.toMatchObject({
    code: 'RefNotFound',
  })
  await expect(
    fetchPackage({ url: join(url, 'missing') }, { ref: 'main', directory: 'web' }, signal),
  ).rejects.toMatchObject({ code: 'RepositoryNotFound' })
})

test('ends git with the signal of the caller when a remote hangs', async () => {
  const server = createServer(() => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = new AbortController()
  server.once('connection', () => stop.abort(new Error('stopped')))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/x.git`
  await expect(fetchPackage({ url }, { ref: 'main', directory: '/' }, stop.signal)).rejects.toThrow('stopped')
  server.close()
})

test('follows no redirect of a git server, in the server or in a command', async () => {
  const paths: string[] = []
  await using server = new AsyncDisposableStack()
  const http = createHttpServer(({ url = '' }, response) => {
    paths.push(url)
    response.writeHead(302, { location: `/elsewhere${url}` }).end()
  })
  server.defer(async () => void http.close())
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/x.git`
  await expect(fetchPackage({ url }, { ref: 'main', directory: '/' }, signal)).rejects.toMatchObject({
    code: 'UnsupportedAddress',
    message: expect.stringContaining('redirects are not followed: write the address that it redirects to') as string,
  })
  const get = pkgCommands.find(({ name }) => name === 'get')!
  const got = get.run({
    arguments: [`${url}/web@main`, join(temporary(), 'web')],
    options: { strategy: 'resource-merge' },
    stdin: async () => '',
    out: () => undefined,
    err: () => undefined,
    client: () => Promise.reject(new Error('no cluster')),
    signal,
  })
  await expect(got).rejects.toThrow('redirects are not followed')
  expect(paths.filter((path) => path.startsWith('/elsewhere'))).toEqual([])
})

test('reports a remote that refuses connections', async () => {
  const url = 'http://127.0.0.1:1/x.git'
  const error = await fetchPackage({ url }, { ref: 'main', directory: '/' }, signal).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(GitError)
  expect((error as GitError).code).toBe('Unreachable')
})

test('reports a damaged object as corrupt and reads the others', async () => {
  const folder = temporary()
  using repository = await GitRepository.open(folder, signal)
  const commit = await committed(repository, new Map([['Kptfile', 'unique content']]))
  const blob = (await repository.resolve(`${commit}:web/Kptfile`))!
  rmSync(join(folder, 'objects', blob.slice(0, 2), blob.slice(2)), { force: true })
  using reopened = await GitRepository.open(folder, signal)
  await expect(reopened.files(commit, 'web')).rejects.toMatchObject({ code: 'Corrupt' })
  await reopened.update([{ ref: 'refs/heads/main', expected: undefined, to: commit }], signal)
  await expect(reopened.verify(signal)).rejects.toMatchObject({ code: 'Corrupt' })
})
