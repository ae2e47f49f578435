// `fairlead pkg get|update|diff|init|cat|tree` as the command line calls them, on real git repositories.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseYaml } from '@fairlead/kube'
import { pkgCommands } from '@fairlead/packages/commands'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readData, describeData } from '../../../test/support/conformance-data.ts'
import { patience } from '../../../test/support/until.ts'
import { UpstreamRepository } from './upstream-repository.ts'

let folder: string
let upstream: UpstreamRepository

const configMap = (name: string, ...data: readonly string[]): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n${data.map((line) => `  ${line}\n`).join('')}`

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-pkg-'))
  upstream = new UpstreamRepository()
  upstream.publish('web', 'v1', {
    Kptfile: 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: blueprint # original\n',
    'settings.yaml': configMap('settings', 'mode: "one"', 'size: small # S'),
    'README.md': 'first\n',
  })
  upstream.publish('web', 'v2', {
    Kptfile:
      'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: blueprint # original\ninfo:\n  description: second\n',
    'settings.yaml': configMap('settings', 'mode: "two"', 'size: small # S', 'extra: x'),
    'more.yaml': configMap('more', 'a: b'),
    'README.md': 'second\n',
  })
})

afterEach(() => {
  upstream[Symbol.dispose]()
  rmSync(folder, { recursive: true })
})

interface Result {
  readonly code: number
  readonly out: string
  readonly err: string
}

const defaults: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  get: { strategy: 'resource-merge' },
  update: { onConflict: 'upstream' },
  diff: { diffType: 'local' },
  init: { description: 'sample description' },
}

async function run(
  name: string,
  args: readonly (string | undefined)[],
  options: Readonly<Record<string, unknown>> = {},
): Promise<Result> {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await pkgCommands
    .find((command) => command.name === name)!
    .run({
      arguments: args,
      options: { ...defaults[name], ...options },
      stdin: async () => '',
      out: (line) => void out.push(line),
      err: (line) => void err.push(line),
      client: () => Promise.reject(new Error('no cluster')),
      signal: AbortSignal.timeout(patience),
    })
    .catch((error: unknown) => {
      err.push((error as Error).message)
      return 1
    })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const at = (...path: string[]): string => join(folder, ...path)
const read = (...path: string[]): string => readFileSync(at(...path), 'utf8')
const getWeb = (): Promise<Result> => run('get', [upstream.address('web', 'v1'), at('shop')])

describe('pkg get', () => {
  test('writes the package with upstream, lock, its new name and merge comments', async () => {
    const { code, out } = await getWeb()
    expect({ code, out: out.replace(/\([0-9a-f]{12}\)/, '(commit)') }).toEqual({
      code: 0,
      out: `Fetched package "shop" from file://${upstream.folder}/ at v1 (commit): 3 files in ${at('shop')}`,
    })
    const { commit } = (parseYaml(read('shop', 'Kptfile')) as { upstreamLock: { git: { commit: string } } })
      .upstreamLock.git
    expect(commit).toMatch(/^[0-9a-f]{40}$/)
    expect(read('shop', 'Kptfile')).toBe(`apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop # original
upstream:
  type: git
  git:
    repo: file://${upstream.folder}/
    directory: /web
    ref: v1
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: file://${upstream.folder}/
    directory: /web
    ref: v1
    commit: ${commit}
`)
    expect(read('shop', 'settings.yaml')).toBe(`apiVersion: v1
kind: ConfigMap
metadata: # kpt-merge: /settings
  name: settings
  annotations:
    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|settings'
data:
  mode: "one"
  size: small # S
`)
  })

  test('adds the package context for a deployment, and without a version takes the branch main', async () => {
    await run('get', [upstream.address('web'), at('shop')], { forDeployment: true })
    expect(parseYaml(read('shop', 'package-context.yaml'))).toMatchObject({
      metadata: { name: 'kptfile.kpt.dev' },
      data: { name: 'shop' },
    })
    expect(read('shop', 'README.md')).toBe('second\n')
  })

  test('refuses a folder that exists, a missing ref, a missing folder and an address without a repository', async () => {
    mkdirSync(at('taken', 'web'), { recursive: true })
    const attempts = await Promise.all([
      run('get', [upstream.address('web', 'v1'), at('taken')]),
      run('get', [upstream.address('web', 'v9'), at('a')]),
      run('get', [upstream.address('nothing', 'v1'), at('b')]),
      run('get', ['https://example.org/web@v1', at('c')]),
      run('get', [upstream.address('../web', 'v1'), at('d')]),
    ])
    expect(attempts.map(({ err }) => err.split('; ')[0])).toEqual([
      `${at('taken', 'web')} exists already`,
      `the repository file://${upstream.folder}/ has no branch, tag or commit v9`,
      `the repository file://${upstream.folder}/ has no folder /nothing at v1`,
      'https://example.org/web@v1 does not say where the repository ends',
      `${upstream.address('../web', 'v1')}: the path leaves the repository`,
    ])
    expect(['a', 'b', 'c', 'd'].filter((name) => existsSync(at(name)))).toEqual([])
  })
})

describe('pkg update', () => {
  test('merges upstream changes into local ones and moves the lock', async () => {
    await getWeb()
    writeFileSync(at('shop', 'settings.yaml'), read('shop', 'settings.yaml').replace('small', 'large'))
    const { code, err, out } = await run('update', [`${at('shop')}@v2`])
    expect({ code, err, out: out.replace(/\([0-9a-f]{12}\)/, '(commit)') }).toEqual({
      code: 0,
      err: '',
      out: 'Updated package "shop" to v2 (commit): 4 files changed, no conflicts',
    })
    expect(read('shop', 'settings.yaml')).toContain('data:\n  mode: "two"\n  size: large # S\n  extra: x\n')
    expect(read('shop', 'more.yaml')).toContain('metadata: # kpt-merge: /more\n')
    expect(read('shop', 'README.md')).toBe('second\n')
    expect(parseYaml(read('shop', 'Kptfile'))).toMatchObject({
      metadata: { name: 'shop' },
      info: { description: 'second' },
      upstream: { git: { ref: 'v2' } },
      upstreamLock: { git: { ref: 'v2' } },
    })
    expect((await run('update', [at('shop')])).out).toContain('0 files changed')
  })

  test.each([
    [
      'upstream',
      0,
      '"two"',
      'conflict, upstream taken: settings.yaml: ConfigMap/settings: data.mode: base "one", ours "mine", theirs "two"',
    ],
    [
      'local',
      0,
      '"mine"',
      'conflict, local taken: settings.yaml: ConfigMap/settings: data.mode: base "one", ours "mine", theirs "two"',
    ],
    [
      'fail',
      1,
      '"mine"',
      '1 conflict between upstream and local changes:\n  settings.yaml: ConfigMap/settings: data.mode: base "one", ours "mine", theirs "two"',
    ],
  ])('with --on-conflict %s reports what both changed', async (onConflict, code, mode, message) => {
    await getWeb()
    writeFileSync(at('shop', 'settings.yaml'), read('shop', 'settings.yaml').replace('"one"', '"mine"'))
    const kptfile = read('shop', 'Kptfile')
    const result = await run('update', [`${at('shop')}@v2`], { onConflict })
    expect({ code: result.code, err: result.err }).toEqual({ code, err: message })
    expect(read('shop', 'settings.yaml')).toContain(`mode: ${mode}`)
    expect(read('shop', 'Kptfile') === kptfile).toBe(code === 1)
  })

  test('with --dry-run prints a patch and writes nothing', async () => {
    await getWeb()
    const before = read('shop', 'settings.yaml')
    const { out } = await run('update', [`${at('shop')}@v2`], { dryRun: true })
    expect(out).toContain('--- a/settings.yaml\n+++ b/settings.yaml\n')
    expect(out).toContain('-  mode: "one"\n+  mode: "two"\n')
    expect(out).toContain('--- /dev/null\n+++ b/more.yaml\n')
    expect([read('shop', 'settings.yaml'), existsSync(at('shop', 'more.yaml'))]).toEqual([before, false])
  })

  test('with fast-forward refuses local changes, and remembers the strategy otherwise', async () => {
    await getWeb()
    const original = read('shop', 'settings.yaml')
    writeFileSync(at('shop', 'settings.yaml'), original.replace('small', 'large'))
    const refused = await run('update', [`${at('shop')}@v2`], { strategy: 'fast-forward' })
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('local package files have been modified: settings.yaml') as string,
    })
    writeFileSync(at('shop', 'settings.yaml'), original)
    await run('update', [`${at('shop')}@v2`], { strategy: 'fast-forward' })
    expect(parseYaml(read('shop', 'Kptfile'))).toMatchObject({ upstream: { updateStrategy: 'fast-forward' } })
  })

  test('refuses folders that are no fetched package, and what no package holds', async () => {
    mkdirSync(at('empty'))
    mkdirSync(at('own'))
    writeFileSync(at('own', 'Kptfile'), 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: own\n')
    await getWeb()
    symlinkSync('/etc/hostname', at('shop', 'link.yaml'))
    const errors = await Promise.all(
      ['missing', 'empty', 'own', 'shop'].map(async (name) => (await run('update', [at(name)])).err),
    )
    expect(errors).toEqual([
      `${at('missing')} is no folder; name the folder of a package`,
      `${at('empty')} has no Kptfile; run fairlead pkg init or pkg get first`,
      `${at('own')}/Kptfile has no git upstream with a lock; only packages that pkg get fetched have one`,
      'link.yaml: symbolic links are not supported in packages',
    ])
  })
})

describe('pkg diff', () => {
  test('shows nothing for a package as it was fetched, then local, upstream and combined changes', async () => {
    await getWeb()
    expect((await run('diff', [at('shop')])).out).toBe('')
    writeFileSync(at('shop', 'settings.yaml'), read('shop', 'settings.yaml').replace('small', 'large'))
    const changed = async (diffType: string): Promise<string[]> =>
      (await run('diff', [`${at('shop')}@v2`], { diffType })).out.split('\n').filter((line) => /^[-+] /.test(line))
    expect(await changed('local')).toEqual(['-  size: small # S', '+  size: large # S'])
    expect(await changed('remote')).toEqual(expect.arrayContaining(['-  mode: "one"', '+  mode: "two"', '+  extra: x']))
    expect(await changed('combined')).toEqual(
      expect.arrayContaining(['-  mode: "two"', '+  mode: "one"', '+  size: large # S']),
    )
    expect((await changed('3way')).length).toBe((await changed('local')).length + (await changed('remote')).length)
  })
})

test('pkg init writes a new package once', async () => {
  const options = { description: 'The web: shop', keywords: 'a,b', site: 'https://example.org' }
  expect((await run('init', [at('web')], { ...options, dryRun: true })).out).toContain('+++ b/Kptfile')
  expect(existsSync(at('web'))).toBe(false)
  expect((await run('init', [at('web')], options)).code).toBe(0)
  expect(parseYaml(read('web', 'Kptfile'))).toMatchObject({
    metadata: { name: 'web' },
    info: { site: 'https://example.org', description: 'The web: shop', keywords: ['a', 'b'] },
  })
  expect((await run('init', [at('web')])).err).toBe(`${at('web')} is a package already: it has a Kptfile`)
})

describeData(
  'a new package of Porch',
  { minimum: 1, read: () => ['Kptfile', 'README.md', 'package-context.yaml'] },
  (files) => {
    test('pkg init gives the same files', async () => {
      await run('init', [at('testpkg')], {
        description: 'test package',
        keywords: 'test,kpt,pkg',
        site: 'http://kpt.dev/testpkg',
      })
      const expected = files.map((file) =>
        readData('third-party', 'porch', 'pkg', 'task', 'testdata', 'init', 'testpkg', file),
      )
      expect(files.map((file) => read('testpkg', file))).toEqual(expected)
    })
  },
)

test('pkg cat and pkg tree show resources, not the Kptfile', async () => {
  mkdirSync(at('web', 'db'), { recursive: true })
  await run('init', [at('web')])
  writeFileSync(at('web', 'settings.yaml'), `${configMap('one', 'a:   b')}---\n${configMap('two', 'c: d')}`)
  writeFileSync(at('web', 'db', 'Kptfile'), 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\n')
  writeFileSync(at('web', 'db', 'store.yaml'), 'apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: prod}\n')
  rmSync(at('web', 'package-context.yaml'))
  expect((await run('cat', [at('web')])).out).toBe(
    `apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: prod}\n---\n${configMap('one', 'a: b')}---\n${configMap('two', 'c: d')}`.trimEnd(),
  )
  expect((await run('tree', [at('web')])).out).toBe(
    [
      'Package "web"',
      '├── [Kptfile]  Kptfile web',
      '├── [settings.yaml]  ConfigMap one',
      '├── [settings.yaml]  ConfigMap two',
      '└── Package "db"',
      '    ├── [Kptfile]  Kptfile db',
      '    └── [store.yaml]  Secret prod/key',
    ].join('\n'),
  )
})
