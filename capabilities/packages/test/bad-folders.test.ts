// Folders that the offline commands must not trust: links, paths, sizes, YAML made to hurt, interrupted writes.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pkgCommands } from '@fairlead/packages/commands'
import { runWith } from '../src/commands/pkg-render.ts'
import type { RenderFlags } from '../src/commands/pkg-render.ts'
import { writeChanges } from '../src/offline/package-folder.ts'
import { PackageRenderer } from '../src/runtime/functions/package-renderer.ts'
import type { CommandRun } from './command-run.ts'
import { runCommand } from './command-run.ts'

const renderer = new PackageRenderer({ workers: 1 })
afterAll(async () => await renderer[Symbol.asyncDispose]())

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-bad-'))
  mkdirSync(at('app'))
  write('app/Kptfile', kptfile())
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (...parts: readonly string[]): string => join(folder, ...parts)
const write = (path: string, content: string): void => writeFileSync(at(path), content)
const kptfile = (mutators = ''): string =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n${mutators === '' ? '' : `pipeline:\n  mutators:\n    - ${mutators}\n`}`
const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`

async function render(options: Partial<RenderFlags> = {}): Promise<CommandRun> {
  const flags: RenderFlags = {
    output: undefined,
    resultsDir: undefined,
    allowExec: false,
    imagePrefix: undefined,
    imagePullPolicy: 'IfNotPresent',
    ...options,
  }
  const run = runCommand<RenderFlags, { folder: string | undefined }>((context) => runWith(renderer, context), {
    folder,
    options: flags,
    args: { folder: 'app' },
  })
  return await run.catch((error: unknown) => ({ exitCode: 1, out: '', err: (error as Error).message }))
}

/** Returns the error of a command that reads a package. */
async function read(name: 'cat' | 'tree'): Promise<string> {
  const command = pkgCommands.find((one) => one.name === name)!
  const context = {
    arguments: [at('app')],
    options: { annotate: false },
    stdin: async () => await Promise.resolve(''),
    out: () => undefined,
    err: () => undefined,
    client: () => Promise.reject(new Error('no cluster')),
    signal: new AbortController().signal,
  }
  return await Promise.resolve(command.run(context)).then(
    () => '',
    (error: unknown) => (error as Error).message,
  )
}

describe('a render', () => {
  test('writes nothing through a symbolic link that leads out of the package', async () => {
    mkdirSync(at('outside'))
    symlinkSync(at('outside'), at('app', 'link'))
    write('app/item.yaml', configMap('item'))
    write('move', `#!/bin/sh\nexec sed s#item.yaml#link/new.yaml#\n`)
    chmodSync(at('move'), 0o755)
    write('app/Kptfile', kptfile(`exec: ${at('move')}`))
    const before = readFileSync(at('app/item.yaml'), 'utf8')
    const { err, exitCode } = await render({ allowExec: true })
    expect({ exitCode, message: err.split('\n').at(-1) }).toEqual({
      exitCode: 1,
      message: 'link/new.yaml: a symbolic link leads out of the folder of the package',
    })
    expect(readdirSync(at('outside'))).toEqual([])
    expect(readFileSync(at('app/item.yaml'), 'utf8')).toBe(before)
  })

  test('reads no file that a symbolic link points at, as kpt does', async () => {
    write('secret.yaml', configMap('secret'))
    symlinkSync(at('secret.yaml'), at('app', 'secret.yaml'))
    const { out, exitCode } = await render({ output: 'unwrap' })
    expect({ exitCode, hasSecret: out.includes('secret') }).toEqual({ exitCode: 0, hasSecret: false })
  })

  test('refuses output outside of the package and changes nothing', async () => {
    write('app/a.yaml', configMap('a'))
    write('app/Kptfile', kptfile('exec: "sed \\"s#: \'a.yaml\'#: \'../../a.yaml\'#\\""'))
    const { exitCode, err } = await render({ allowExec: true })
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: expect.stringContaining('function must not modify resources outside of package') as string,
    })
    expect(existsSync(at('a.yaml'))).toBe(false)
  })

  test.each([
    ['a tab for indentation', 'a:\n\tb: 1\n', /a\.yaml:2/],
    ['a map that is never closed', 'a: {b: [1\n', /a\.yaml:/],
  ])('ends with the place of the fault: %s', async (_, content, message) => {
    write('app/Kptfile', kptfile('image: set-labels\n      configMap: {tier: web}'))
    write('app/a.yaml', content)
    const { exitCode, err } = await render()
    expect(exitCode).toBe(1)
    expect(err).toMatch(message)
    expect(readFileSync(at('app/a.yaml'), 'utf8')).toBe(content)
  })

  test.each([
    ['nested brackets', `a: ${'['.repeat(20_000)}`],
    ['nested maps', Array.from({ length: 5_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])('of deeply %s fails and leaves the renderer in order', async (_, content) => {
    write('app/a.yaml', content)
    expect((await render()).exitCode).toBe(1)
    write('app/a.yaml', configMap('a'))
    expect((await render()).exitCode).toBe(0)
  })
})

describe('aliases that multiply', () => {
  test.each([
    ['search-replace', '{image: search-replace, configMap: {by-value: x, put-value: "y"}}'],
    ['apply-setters', '{image: apply-setters, configMap: {x: "y"}}'],
    ['apply-replacements', '{image: apply-replacements, configPath: replacements.yaml}'],
    ['validate-cel', '{image: validate-cel, configPath: rules.yaml}'],
    ['kubeconform', '{image: kubeconform}'],
  ])('end %s, or are left as they are, and cost no memory', async (_, step) => {
    write('app/Kptfile', kptfile(step))
    write('app/a.yaml', bomb())
    write('app/rules.yaml', rules)
    write('app/replacements.yaml', replacements)
    const { err } = await render()
    expect(err).not.toMatch(/MiB of memory|did not finish/)
    expect(statSync(at('app/a.yaml')).size).toBeLessThan(10_000)
  })
})

const local = "  annotations:\n    config.kubernetes.io/local-config: 'true'\n"
const rules = `apiVersion: fn.fairlead.dev/v1alpha1\nkind: ValidateCEL\nmetadata:\n  name: rules\n${local}rules:\n  - name: data\n    match: {kind: ConfigMap}\n    expression: size(object.data) > 100\n`
const replacements = `apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata:\n  name: r\n${local}replacements:\n  - source: {kind: ConfigMap, fieldPath: metadata.name}\n    targets:\n      - select: {kind: ConfigMap}\n        fieldPaths: [data.l9.0.0.0]\n`

describe('a package', () => {
  test.each(['cat', 'tree'] as const)(
    'with a symbolic link or a file that is too large is refused by %s',
    async (name) => {
      symlinkSync('/etc/passwd', at('app', 'users'))
      expect(await read(name)).toBe('users: symbolic links are not supported in packages')
      rmSync(at('app', 'users'))
      write('app/large.yaml', '')
      truncateSync(at('app', 'large.yaml'), 50 * 1024 * 1024)
      expect(await read(name)).toBe('large.yaml: the file has 52428800 bytes; the limit is 10485760')
    },
  )

  test('is read without the files that an interrupted write left', async () => {
    write('app/.fairlead-4711.tmp', 'apiVersion: v1\nkind: Conf')
    write('app/a.yaml', configMap('a'))
    expect((await render({ output: 'unwrap' })).out).not.toContain('Conf\n')
    expect(await read('cat')).toBe('')
  })
})

describe('a write of changes', () => {
  const change = (path: string, after: string | undefined) => ({ path, before: undefined, after })

  test.each(['../a', '/a', 'a/../../b', '.git/config', 'a//b'])('refuses %s and writes nothing', async (path) => {
    await expect(writeChanges(at('app'), [change('good', 'x'), change(path, 'x')])).rejects.toMatchObject({
      code: 'InvalidPackage',
    })
    expect(readdirSync(at('app'))).toEqual(['Kptfile'])
  })

  test('replaces no file when one of them cannot be written, and leaves none behind', async () => {
    mkdirSync(at('app', 'taken.yaml'))
    write('app/a.yaml', 'before\n')
    await expect(
      writeChanges(at('app'), [change('a.yaml', 'after\n'), change('Kptfile/below', 'x')]),
    ).rejects.toMatchObject({ code: expect.stringMatching(/ENOTDIR|EEXIST/) as string })
    expect(readFileSync(at('app/a.yaml'), 'utf8')).toBe('before\n')
    expect(readdirSync(at('app')).toSorted()).toEqual(['Kptfile', 'a.yaml', 'taken.yaml'])
  })

  test('keeps the mode of a file', async () => {
    write('app/run.sh', 'x')
    chmodSync(at('app/run.sh'), 0o755)
    await writeChanges(at('app'), [change('run.sh', 'y')])
    expect(statSync(at('app/run.sh')).mode & 0o777).toBe(0o755)
  })
})

/** Ten levels of nine aliases each: a billion values, where each is copied. */
function bomb(): string {
  const levels = Array.from({ length: 10 }, (_, level) => {
    const items =
      level === 0
        ? '"x", "x"'
        : Array(9)
            .fill(`*l${level - 1}`)
            .join(', ')
    return `  l${level}: &l${level} [${items}]\n`
  })
  return `${configMap('bomb')}data:\n${levels.join('')}`
}
