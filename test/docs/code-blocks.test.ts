// The TypeScript in READMEs, tutorials and guides: all of it compiles, and its tests and what the READMEs begin with
// run.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { ConfigMap } from '@fairlead/client'
import { root } from './reader.ts'
import { stepsOf } from './tutorial.ts'

/** The first block of TypeScript of a package's README. */
function firstUse(folder: string): string {
  const text = readFileSync(join(root, folder, 'README.md'), 'utf8')
  return /^```ts\n([^]*?)^```$/m.exec(text)![1]!
}

const firstUses = {
  'apiserver/first-use.test.ts': firstUse('foundation/apiserver'),
  'client/first-use.ts': firstUse('foundation/client'),
  'controller/first-use.ts': firstUse('foundation/controller'),
  'kube/first-use.ts': firstUse('foundation/kube'),
}
const pages = ['tutorial', 'how-to'].flatMap((folder) =>
  readdirSync(join(root, 'docs', folder)).map((name) => `${folder}/${name}`),
)
const saved = pages.flatMap((page) =>
  stepsOf(readFileSync(join(root, 'docs', page), 'utf8')).flatMap((step): [string, string][] =>
    step.do === 'save' && step.file.endsWith('.ts') ? [[`${page}/${step.file}`, step.text]] : [],
  ),
)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-blocks-'))
  for (const [file, text] of [...Object.entries(firstUses), ...saved]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const config = `import config from '${join(root, 'vitest.config.ts')}'\nexport default { ...config, test: { ...config.test, globalSetup: [], projects: undefined, include: ['**/*.test.ts'] } }\n`
  writeFileSync(join(folder, 'vitest.config.ts'), config)
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every file that a page shows is named in its text, which GitHub shows, not in the fence alone', () => {
  const unnamed = pages.flatMap((page) => {
    const text = readFileSync(join(root, 'docs', page), 'utf8')
    const prose = text.replaceAll(/^```[^]*?^```$/gm, '')
    const files = [...text.matchAll(/^```\w+ file=(\S+)/gm)].map(([, file]) => file!)
    return files.filter((file) => !prose.includes(`\`${file}\``)).map((file) => `${page}: ${file}`)
  })
  expect(unnamed).toEqual([])
})

test('all of it compiles', { timeout: 180_000 }, () => {
  expect(saved.length).toBeGreaterThan(3)
  const config = {
    extends: join(root, 'tsconfig.test.json'),
    compilerOptions: { rootDir: '/', noEmit: true },
    include: ['**/*.ts'],
    exclude: ['vitest.config.ts'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
  // `npm run types` checks the sources behind the entry points.
  expect(stdout.split('\n').filter((line) => line.includes(basename(folder)))).toEqual([])
  expect(stdout).not.toContain('TS18003')
})

test('every test among it passes', { timeout: 180_000 }, () => {
  const count = [...Object.keys(firstUses), ...saved.map(([file]) => file)].filter((file) =>
    file.endsWith('.test.ts'),
  ).length
  const args = ['run', '--root', folder, '--config', join(folder, 'vitest.config.ts'), '--isolate=false']
  const { status, stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/vitest'), args, {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  expect(stdout + stderr).toMatch(new RegExp(`Test Files +${count} passed \\(${count}\\)`))
  expect(status).toBe(0)
})

test('the first use of the controller runtime does what it says', { timeout: 180_000 }, async () => {
  await using server = await ApiServer.start()
  const { kubeconfig } = await server.listen()
  const file = join(folder, 'kubeconfig')
  writeFileSync(file, kubeconfig, { mode: 0o600 })
  const args = ['--conditions=@fairlead/source', join(folder, 'controller/first-use.ts')]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, KUBECONFIG: file },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(child.stdout, 'data')
    const client = server.client()
    const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team', labels: { owner: 'ann' } } }
    await client.create(team)
    expect((await client.waitFor(ConfigMap, 'team/contact', () => true)).data).toEqual({ owner: 'ann' })
    await client.apply({ ...team, metadata: { name: 'team', labels: { owner: 'bob' } } }, { force: true })
    await client.waitFor(ConfigMap, 'team/contact', ({ data }) => data?.['owner'] === 'bob')
  } finally {
    const exited = once(child, 'exit')
    child.kill('SIGINT')
    expect(await exited).toEqual([0, null])
  }
})

test('what the comments of the first use of kube say is so', async () => {
  const lines = firstUses['kube/first-use.ts'].split('\n')
  const shown = lines.flatMap((line) => {
    const found = /^(\w.*\)) \/\/ (.*?)(?:, as kubectl reads it)?$/.exec(line)
    return found === null ? [] : [{ code: found[1]!, value: found[2]! }]
  })
  expect(shown.length).toBe(3)
  const program = `${lines.filter((line) => line.startsWith('import')).join('\n')}
console.log(JSON.stringify([${shown.map(({ code, value }) => `[${code}, ${value}]`).join(', ')}]))`
  const args = ['--conditions=@fairlead/source', '--input-type=module-typescript', '-e', program]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: folder })
  expect(stderr).toBe('')
  for (const [actual, value] of JSON.parse(stdout) as [unknown, unknown][]) expect(actual).toEqual(value)
})
