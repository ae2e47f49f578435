import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManifestError, manifestFiles, readDocuments, readManifests } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-offline-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

function read(path: string, stdin = ''): Promise<readonly Manifest[]> {
  return readManifests([path], { stdin: () => Promise.resolve(stdin) })
}

/** `file:line name` of each manifest. */
function summary(manifests: readonly Manifest[]): string[] {
  return manifests.map(({ file, line, object }) => `${file.replace(folder, '')}:${line} ${object.metadata.name}`)
}

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`

describe('manifestFiles', () => {
  test('finds .yaml, .yml and .json files of all folders in name order, without node_modules and dot folders', () => {
    for (const name of ['b.yml', 'a.yaml', 'sub/c.json', 'sub/deep/d.yaml', 'README.md', 'hook.ts']) write(name, '')
    for (const name of ['node_modules/x/package.json', '.git/config.yaml', 'sub/.cache/e.yaml']) write(name, '')
    expect(manifestFiles(folder)).toEqual(
      ['a.yaml', 'b.yml', 'sub/c.json', 'sub/deep/d.yaml'].map((name) => join(folder, name)),
    )
  })

  test('returns a file that is named, whatever its extension', () => {
    expect(manifestFiles(write('manifest.txt', ''))).toEqual([join(folder, 'manifest.txt')])
  })

  test('refuses a path that does not exist and says what to do', () => {
    const path = join(folder, 'absent.yaml')
    expect(() => manifestFiles(path)).toThrow(
      `${path}: there is no such file or folder; check the path, or write - for standard input`,
    )
  })
})

describe('readManifests', () => {
  test('names file and line of every object', async () => {
    write('a.yaml', `# head\n${configMap('one')}---\n# nothing\n---\nnull\n---\n${configMap('two')}`)
    write('b/c.json', '\n{"apiVersion": "v1", "kind": "ConfigMap",\n\t"metadata": {"name": "three"}}')
    expect(summary(await read(folder))).toEqual(['/a.yaml:2 one', '/a.yaml:10 two', '/b/c.json:2 three'])
  })

  test('reads standard input for - once', async () => {
    let calls = 0
    const stdin = (): Promise<string> => Promise.resolve(++calls === 1 ? configMap('piped') : '')
    expect(summary(await readManifests(['-', '-'], { stdin }))).toEqual(['standard input:1 piped'])
    expect(calls).toBe(1)
  })

  test('takes Lists apart, also nested and typed ones', async () => {
    const path = write(
      'list.yaml',
      `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- apiVersion: v1
  kind: ConfigMapList
  items:
  - metadata: {name: two}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: three}}
---
{apiVersion: v1, kind: List, items: null}
---
{apiVersion: example.com/v1, kind: WatchList, metadata: {name: four}, items: some}
`,
    )
    const manifests = await read(path)
    expect(summary(manifests)).toEqual([
      '/list.yaml:1 one',
      '/list.yaml:1 two',
      '/list.yaml:1 three',
      '/list.yaml:13 four',
    ])
    expect(manifests[1]!.object).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'two' } })
  })

  test('leaves out null metadata fields and keeps unknown fields', async () => {
    const path = write(
      'a.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, creationTimestamp: null, typo: 1}\nother: 2\n',
    )
    expect((await read(path))[0]!.object).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one', typo: 1 },
      other: 2,
    })
    expect((await read(write('b.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n')))[0]!.object.metadata).toEqual(
      {},
    )
  })

  test('reads integers beyond 2^53 exactly', async () => {
    const path = write('a.yaml', `${configMap('one')}data: {big: 9007199254740993}\n`)
    expect((await read(path))[0]!.object['data']).toEqual({ big: 9007199254740993n })
  })

  test.each([
    ['a syntax error', `${configMap('one')}data: {a: 1\nb: 2\n`, 5, /^yaml: /],
    ['a string', `${configMap('one')}---\nhello\n`, 5, 'expected an object with apiVersion and kind, found a string'],
    ['a list', '- a: 1\n', 1, 'expected an object with apiVersion and kind, found a list'],
    ['a missing kind', 'apiVersion: v1\nspec: {}\n', 1, 'kind is missing; every object needs apiVersion and kind'],
    [
      'an empty apiVersion',
      "apiVersion: ''\nkind: A\n",
      1,
      'apiVersion is missing; every object needs apiVersion and kind',
    ],
    ['a numeric apiVersion', 'apiVersion: 1\nkind: A\n', 1, 'apiVersion must be a string, found a number'],
    ['metadata that is a list', 'apiVersion: v1\nkind: A\nmetadata: []\n', 1, 'metadata must be a map, found a list'],
    [
      'a numeric name',
      'apiVersion: v1\nkind: A\nmetadata: {name: 5}\n',
      1,
      'metadata.name must be a string, found a number',
    ],
    [
      'labels that are a string',
      'apiVersion: v1\nkind: A\nmetadata: {labels: a}\n',
      1,
      'metadata.labels must be a map of strings, found a string',
    ],
    [
      'a boolean label',
      'apiVersion: v1\nkind: A\nmetadata: {labels: {on: true}}\n',
      1,
      'metadata.labels[true] must be a string, found a boolean; write it in quotes',
    ],
    [
      'finalizers that are a map',
      'apiVersion: v1\nkind: A\nmetadata: {finalizers: {}}\n',
      1,
      /^metadata: json: cannot unmarshal object/,
    ],
    ['a duplicate key', 'apiVersion: v1\nkind: A\nspec:\n  a: 1\n  a: 2\n', 5, 'duplicate field "spec.a"'],
    ['a List whose items are a map', 'apiVersion: v1\nkind: List\nitems: {}\n', 1, 'items must be a list, found a map'],
    [
      'an invalid item of a List',
      'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{kind: A}]}\n',
      1,
      'items[0].items[0]: apiVersion is missing; every object needs apiVersion and kind',
    ],
  ])('refuses %s with file and line', async (_title, text, line, problem) => {
    const path = write('a.yaml', text)
    const error = await read(path).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ManifestError)
    const { code, exitCode, message, ...place } = error as ManifestError
    expect({ code, exitCode, file: place.file, line: place.line }).toEqual({
      code: 'InvalidManifest',
      exitCode: 1,
      file: path,
      line,
    })
    const prefix = `${path}:${line}: `
    expect(message.slice(0, prefix.length)).toBe(prefix)
    const rest = message.slice(prefix.length)
    if (typeof problem === 'string') expect(rest).toBe(problem)
    else expect(rest).toMatch(problem)
  })

  test('refuses malformed JSON and duplicate keys in JSON with file and line', async () => {
    const broken = write('a.json', '{\n  "apiVersion": "v1",\n  "kind": }\n')
    await expect(read(broken)).rejects.toThrow(`${broken}:3: invalid character '}'`)
    const twice = write('b.json', '{"apiVersion": "v1", "kind": "A", "kind": "B"}')
    await expect(read(twice)).rejects.toThrow(`${twice}:1: duplicate field "kind"`)
  })

  test('appends the hint to a syntax error', async () => {
    const path = write('a.yaml', 'apiVersion: */*\nkind: A\n')
    const hint = (problem: string): string | undefined =>
      /alphabetic|anchor|alias/.test(problem) ? 'quote wildcards' : undefined
    await expect(readManifests([path], { stdin: () => Promise.resolve(''), hint })).rejects.toThrow(
      /a\.yaml:1: yaml: .*; quote wildcards$/,
    )
  })
})

test('readDocuments returns any values with file and line', () => {
  const path = write('a.yaml', '- 1\n---\n---\ntext\n')
  expect(readDocuments(path)).toEqual([
    { file: path, line: 1, value: [1] },
    { file: path, line: 4, value: 'text' },
  ])
})
