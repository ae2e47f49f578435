// Selection of an upstream by a range of versions and by workspace, and marks of the design in packages.
import { expect, test } from 'vitest'
import {
  decideInjection,
  injectionPoints,
  observedRevision,
  selectUpstream,
  specErrors,
  withDefaults,
  withInjection,
} from '@fairlead/variants'
import type { PackageRevision } from '@fairlead/packages'

/** A published revision of catalog/web; its version is a label of the revision, or of its Kptfile. */
function revision(number: number, version: string | undefined, more: object = {}): PackageRevision {
  const labels = version === undefined ? {} : { 'app.kubernetes.io/version': version }
  return {
    apiVersion: 'porch.kpt.dev/v1alpha1',
    kind: 'PackageRevision',
    metadata: { name: `catalog.web.v${number}`, namespace: 'team-a', labels },
    spec: {
      repository: 'catalog',
      packageName: 'web',
      workspaceName: `v${number}`,
      revision: number,
      lifecycle: 'Published',
      ...more,
    },
  } as PackageRevision
}

const catalog: readonly PackageRevision[] = [
  revision(1, '1.0.0'),
  revision(2, '1.2.0'),
  revision(3, '2.0.0'),
  // A repair of the former minor version is a later revision.
  revision(4, 'v1.1.7'),
  revision(5, '2.1.0-rc.1'),
  revision(6, undefined, { packageMetadata: { labels: { 'app.kubernetes.io/version': '3.1' } } }),
  revision(7, 'nightly'),
  revision(8, '1.9.0', { lifecycle: 'DeletionProposed' }),
  revision(9, '1.8.0', { lifecycle: 'Draft', revision: 0 }),
  revision(10, '1.0'),
]

const select = (range: string): ReturnType<typeof selectUpstream> =>
  selectUpstream({ repo: 'catalog', package: 'web', follow: { range } }, catalog.map(observedRevision))

test.each([
  ['1.x', 'catalog.web.v2'],
  ['~1.1', 'catalog.web.v4'],
  ['>=1.1 <1.2', 'catalog.web.v4'],
  ['^2', 'catalog.web.v3'],
  ['>=2.1.0-rc.0 <2.2', 'catalog.web.v5'],
  ['*', 'catalog.web.v6'],
  ['1.0.0', 'catalog.web.v10'],
  ['>=1.9 <2 || 3.1.0', 'catalog.web.v6'],
])('the range %s selects the published revision %s', (range, name) => {
  expect(select(range).revision?.name).toBe(name)
})

test('a range without a revision names the versions that there are', () => {
  expect(select('^4')).toEqual({
    revision: undefined,
    warnings: [],
    problem:
      'could not find a published revision of catalog/web with a version in "^4"; the versions are 1.1.7, 1.2.0, 2.0.0, ' +
      '2.1.0-rc.1, 3.1.0',
  })
  const upstream = { repo: 'catalog', package: 'web', follow: { range: '^4' } }
  expect(selectUpstream(upstream, [observedRevision(revision(1, undefined))])).toMatchObject({
    problem: expect.stringContaining('label app.kubernetes.io/version, its own or that of its Kptfile') as string,
  })
})

test('a range that cannot be read is an error of the spec', () => {
  const upstream = { repo: 'catalog', package: 'web', follow: { range: 'one dot x' } }
  const spec = withDefaults({ upstream, downstream: { repo: 'edge', package: 'web' } })
  const message = 'spec.upstream.follow.range "one dot x" is no range of versions such as 1.x, ^1.2 or ">=1.2 <3"'
  expect(specErrors(spec)).toEqual([message])
  expect(select('one dot x')).toMatchObject({ problem: message })
})

test.each([
  ['v1.2', 'cannot be followed: must not contain dots'],
  ['Stable', 'cannot be followed: a lowercase RFC 1123 label must consist of'],
  ['v3', 'is the number of a revision; write spec.upstream.revision instead'],
])('the tag %s, on which no revision can be, is an error of the spec', (tag, problem) => {
  const upstream = { repo: 'catalog', package: 'web', follow: { tag } }
  const message = expect.stringContaining(`spec.upstream.follow.tag "${tag}" ${problem}`) as string
  expect(specErrors(withDefaults({ upstream, downstream: { repo: 'edge', package: 'web' } }))).toEqual([message])
  expect(selectUpstream(upstream, catalog.map(observedRevision))).toMatchObject({ problem: message })
})

test('a draft is refused as an upstream', () => {
  const drafts = [revision(1, undefined, { lifecycle: 'Draft', revision: 0 })].map(observedRevision)
  expect(selectUpstream({ repo: 'catalog', package: 'web', workspaceName: 'v1' }, drafts)).toMatchObject({
    revision: undefined,
    problem: 'the upstream catalog.web.v1 is a Draft; only published revisions can be upstreams',
  })
})

test.each(['kpt.dev/injected-resource', 'kpt.dev/injected-resource-name'])(
  'the annotation %s names the object that was injected',
  (annotation) => {
    const annotations = `{kpt.dev/config-injection: required, ${annotation}: east}`
    const files = { 'a.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: ${annotations}}\n` }
    expect(injectionPoints(files).points.map(({ injected }) => injected)).toEqual(['east'])
  },
)

test('an empty policy is none', () => {
  const [upstream, downstream] = [
    { repo: 'catalog', package: 'web' },
    { repo: 'edge', package: 'web' },
  ]
  const spec = { upstream, downstream, adoptionPolicy: '', deletionPolicy: '' }
  const full = withDefaults(spec as unknown as Parameters<typeof withDefaults>[0])
  expect([specErrors(full), full.adoptionPolicy, full.deletionPolicy]).toEqual([[], 'adoptNone', 'delete'])
})

test('conditions and gates of injection points come in the order of their types', () => {
  const point = (kind: string, name: string): string =>
    `apiVersion: example.org/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n  annotations:\n    kpt.dev/config-injection: required\n`
  const files = {
    Kptfile: 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n',
    'a.yaml': [point('Site', 'b'), point('Site', 'a'), point('Region', 'c')].join('---\n'),
  }
  const decisions = injectionPoints(files).points.map((one) => decideInjection(one, [], { objects: new Map() }))
  const { Kptfile } = withInjection(files, decisions)
  const types = [...(Kptfile ?? '').matchAll(/(?:type|conditionType): config\.injection\.(.*)$/gim)].map(
    ([, type]) => type,
  )
  expect(types.slice(0, 3)).toEqual(['Region.c', 'Site.a', 'Site.b'])
  expect(types.slice(3)).toEqual(['Region.c', 'Site.a', 'Site.b'])
})
