// What both sides of an update changed: what is reported, and who wins.
import type { MergeConflict, PackageFiles, UpdatedPackage } from '@fairlead/packages'
import { PackageError, updatePackage } from '@fairlead/packages'
import { describe, expect, test } from 'vitest'

const configMap = (name: string, data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /${name}\n  name: ${name}\ndata: ${data}\n`
const kptfile = (name: string, rest = ''): string =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: ${name}\n${rest}`
const files = (content: Readonly<Record<string, string>>): PackageFiles => new Map(Object.entries(content))

type Content = Readonly<Record<string, string>>

function merge(base: Content, upstream: Content, local: Content, onConflict?: 'local' | 'fail'): UpdatedPackage {
  return updatePackage({
    base: files(base),
    upstream: files(upstream),
    local: files(local),
    strategy: 'resource-merge',
    onConflict,
  })
}

const place = ({ file, path, resource, taken }: MergeConflict): string =>
  `${[file, resource, path].join(' ')}: ${taken}`

describe('a conflict', () => {
  const widget = (spec: string): string =>
    `apiVersion: example.org/v1\nkind: Widget\nmetadata: # kpt-merge: /w\n  name: w\nspec: ${spec}\n`

  test.each([
    ['a value', '{a: 1}', '{a: 2}', '{a: 3}', 'spec.a', '{a: 2}'],
    ['a value that upstream removed', '{a: 1, b: 1}', '{b: 1}', '{a: 3, b: 1}', 'spec.a', '{b: 1}'],
    ['a value that was removed locally', '{a: 1, b: 1}', '{a: 2, b: 1}', '{b: 1}', 'spec.a', '{b: 1, a: 2}'],
    ['a list that is one value', '{a: [1]}', '{a: [1, 2]}', '{a: [0, 1]}', 'spec.a', '{a: [1, 2]}'],
    ['the type of a value', '{a: {b: 1}}', '{a: text}', '{a: {b: 2}}', 'spec.a', '{a: text}'],
    ['a key with dots', '{"a.b/c": 1}', '{"a.b/c": 2}', '{"a.b/c": 3}', 'spec["a.b/c"]', '{"a.b/c": 2}'],
  ])('about %s names its path and is decided by the policy', (_, base, upstream, local, path, result) => {
    const [b, u, l] = [base, upstream, local].map((spec): Content => ({ 'w.yaml': widget(spec) })) as [
      Content,
      Content,
      Content,
    ]
    const taken = merge(b, u, l)
    expect(taken.conflicts.map(place)).toEqual([`w.yaml example.org/Widget/w ${path}: upstream`])
    expect(taken.files.get('w.yaml')).toBe(widget(result))
    const kept = merge(b, u, l, 'local')
    expect(kept.conflicts.map(place)).toEqual([`w.yaml example.org/Widget/w ${path}: local`])
    expect(kept.files.get('w.yaml')).toBe(widget(local))
    expect(() => merge(b, u, l, 'fail')).toThrow(
      expect.objectContaining({ code: 'MergeConflict', message: expect.stringContaining(path) as string }) as Error,
    )
  })

  test('reports the three values as YAML', () => {
    const [conflict] = merge(
      { 'w.yaml': widget('{a: 1}') },
      { 'w.yaml': widget('{a: "2"}') },
      { 'w.yaml': widget('{a: {b: c}}') },
    ).conflicts
    expect(conflict).toEqual({
      file: 'w.yaml',
      resource: 'example.org/Widget/w',
      path: 'spec.a',
      base: '1',
      ours: '{b: c}',
      theirs: '"2"',
      taken: 'upstream',
    })
  })

  test('about a whole resource leaves it as it is locally', () => {
    const [a, b] = [configMap('a', '{k: one}'), configMap('b', '{k: one}')]
    const [changedA, changedB] = [configMap('a', '{k: up}'), configMap('b', '{k: mine}')]
    const { conflicts, files: merged } = merge(
      { 'a.yaml': a, 'b.yaml': b },
      { 'a.yaml': changedA },
      { 'b.yaml': changedB },
    )
    expect(conflicts.map(place).toSorted()).toEqual(['a.yaml ConfigMap/a : local', 'b.yaml ConfigMap/b : local'])
    expect([...merged]).toEqual([['b.yaml', changedB]])
  })

  test('about a file without resources keeps the local file', () => {
    const { conflicts, files: merged } = merge({ 'run.sh': 'one' }, { 'run.sh': 'two' }, { 'run.sh': 'mine' })
    expect(conflicts).toEqual([{ file: 'run.sh', base: 'one', ours: 'mine', theirs: 'two', taken: 'local' }])
    expect(merged.get('run.sh')).toBe('mine')
  })
})

describe('a resource that moved to another file', () => {
  const [one, two, mine] = [
    configMap('a', '{k: one, l: one}'),
    configMap('a', '{k: two, l: one}'),
    configMap('a', '{k: one, l: mine}'),
  ]

  test.each([
    ['upstream', 'a.yaml', 'new.yaml', 'a.yaml', 'new.yaml', []],
    ['locally', 'a.yaml', 'a.yaml', 'mine.yaml', 'mine.yaml', []],
    ['alike on both sides', 'a.yaml', 'new.yaml', 'new.yaml', 'new.yaml', []],
    ['to different files', 'a.yaml', 'new.yaml', 'mine.yaml', 'new.yaml', ['mine.yaml ConfigMap/a (file): upstream']],
  ])('%s is merged where it is now', (_, base, upstream, local, result, conflicts) => {
    const merged = merge({ [base]: one }, { [upstream]: two }, { [local]: mine })
    expect([...merged.files]).toEqual([[result, configMap('a', '{k: two, l: mine}')]])
    expect(merged.conflicts.map(place)).toEqual(conflicts)
  })

  test('stays apart from others of its name, as overlays have them', () => {
    const base = { 'base/a.yaml': one, 'overlay/a.yaml': configMap('a', '{k: patch}') }
    const merged = merge(base, { ...base, 'base/a.yaml': two }, { ...base, 'base/a.yaml': mine })
    expect(Object.fromEntries(merged.files)).toEqual({ ...base, 'base/a.yaml': configMap('a', '{k: two, l: mine}') })
  })
})

describe('bad input', () => {
  const codeOf = (run: () => unknown): string => {
    try {
      run()
      return 'none'
    } catch (error) {
      return error instanceof PackageError ? `${error.code} ${error.message}` : String(error)
    }
  }

  test('a file that is no YAML is one value: it is kept, and updated when nothing changed it', () => {
    const broken = 'kind: [\n'
    expect(merge({ 'a.yaml': broken }, { 'a.yaml': 'fixed: true\n' }, { 'a.yaml': broken }).files.get('a.yaml')).toBe(
      'fixed: true\n',
    )
    const { conflicts, files: merged } = merge(
      { 'a.yaml': broken },
      { 'a.yaml': 'fixed: true\n' },
      { 'a.yaml': 'mine: {\n' },
    )
    expect([merged.get('a.yaml'), conflicts.length]).toEqual(['mine: {\n', 1])
  })

  test('a resource that stands twice in one file is refused with file and line', () => {
    const twice = `${configMap('a', '{k: one}')}---\n${configMap('a', '{k: two}')}`
    expect(codeOf(() => merge({}, { 'a.yaml': twice }, {}))).toBe(
      'DuplicateResource a.yaml:7: found duplicate resource ConfigMap/a in upstream',
    )
    expect(codeOf(() => merge({}, {}, { 'a.yaml': twice }))).toBe(
      'DuplicateResource a.yaml:7: found duplicate resource ConfigMap/a in the local package',
    )
  })

  test('a Kptfile with unknown fields is refused, not merged', () => {
    const update = (): UpdatedPackage =>
      merge({ Kptfile: kptfile('a') }, { Kptfile: kptfile('a', 'pipelines: {}\n') }, { Kptfile: kptfile('b') })
    expect(codeOf(update)).toBe(
      'InvalidKptfile Kptfile:5: yaml: unmarshal errors:\n  line 5: field pipelines not found in type v1.KptFile',
    )
  })

  test('bytes, other line breaks and a byte order mark survive an update that does not touch them', () => {
    const local = new Map<string, string | Uint8Array>([
      ['logo.png', new Uint8Array([0, 1, 255])],
      ['dos.yaml', configMap('dos', '{k: v}').replaceAll('\n', '\r\n')],
    ])
    const update = updatePackage({
      base: local,
      upstream: new Map([...local, ['new.txt', 'x']]),
      local,
      strategy: 'resource-merge',
    })
    expect(update.files).toEqual(new Map([...local, ['new.txt', 'x']]))
  })
})

describe('packages below', () => {
  const sub = (name: string, data: string, rest = ''): Content => ({
    [`${name}/Kptfile`]: kptfile(name, rest),
    [`${name}/a.yaml`]: configMap('a', data),
  })

  test('that both sides added differently are refused', () => {
    expect(() => merge({}, sub('db', '{k: up}'), sub('db', '{k: mine}'))).toThrow(
      'subpackage "db" added in both upstream and local',
    )
    expect(merge({}, sub('db', '{k: one}'), sub('db', '{k: one}')).conflicts).toEqual([])
  })

  test('that upstream removed go with all below when nothing changed them, and stay with a conflict when something did', () => {
    const base = { ...sub('db', '{k: one}'), ...sub('db/deep', '{k: one}') }
    expect([...merge(base, {}, base).files]).toEqual([])
    const local = { ...base, ...sub('db/deep', '{k: mine}') }
    const kept = merge(base, {}, local)
    expect([Object.fromEntries(kept.files), kept.conflicts.map(place)]).toEqual([local, ['db  : local']])
  })

  test('that took another upstream are left alone', () => {
    const own = 'upstream:\n  type: git\n  git:\n    repo: https://example.org/db.git\n    directory: /\n    ref: v9\n'
    const local = sub('db', '{k: one}', own)
    expect(Object.fromEntries(merge(sub('db', '{k: one}'), sub('db', '{k: two}'), local).files)).toEqual(local)
  })
})

test('copy-merge copies upstream over the local files, removes what upstream removed, and keeps the rest', () => {
  const base = {
    'a.yaml': configMap('a', '{k: one}'),
    'gone.yaml': configMap('gone', '{k: one}'),
    Kptfile: kptfile('up'),
  }
  const upstream = { 'a.yaml': configMap('a', '{k: two}'), Kptfile: kptfile('up', 'info:\n  description: new\n') }
  const local = {
    'a.yaml': configMap('a', '{k: mine}'),
    'gone.yaml': configMap('gone', '{k: mine}'),
    'own.txt': 'own',
    Kptfile: kptfile('mine'),
  }
  const merged = updatePackage({
    base: files(base),
    upstream: files(upstream),
    local: files(local),
    strategy: 'copy-merge',
  })
  expect(Object.fromEntries(merged.files)).toEqual({
    'a.yaml': upstream['a.yaml'],
    'own.txt': 'own',
    Kptfile: kptfile('mine', 'info:\n  description: new\n'),
  })
})
