// The cost of variants grows with the size of what users write, not with its square: targets, repositories, variants,
// template entries, injection points, injectors, revisions and functions; in steps that V8 counts.
import type { KubeObject } from '@fairlead/kube'
import {
  decideInjection,
  injectionPoints,
  nextWorkspaceName,
  planSet,
  selectUpstream,
  specErrors,
  targetErrors,
  variantNames,
  withContext,
  withDefaults,
  withFunctions,
  withInjection,
} from '@fairlead/variants'
import type {
  ObservedRevision,
  ObservedSet,
  ObservedVariant,
  PackageText,
  Selectable,
  SetSpec,
} from '@fairlead/variants'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSteadyGrowth, growsTooFast, stepsOf } from '../../../test/growth/expect-growth.ts'
import { manyOf } from '../../../test/growth/growing-schema.ts'
import { StepCounter } from '../../../test/growth/step-counter.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

const upstream = { repo: 'catalog', package: 'web' }
type Targets = SetSpec['targets']
type Template = NonNullable<Targets[number]['template']>

const repository = (name: string): Selectable => ({ name, namespace: 'a', labels: { env: 'prod' }, annotations: {} })
const repositories = (size: number): readonly Selectable[] => manyOf(size).map((at) => repository(`r${at}`))
const variant = (at: number, more: Partial<ObservedVariant> = {}): ObservedVariant => ({
  name: `fleet-r${at}-web`,
  repo: `r${at}`,
  package: 'web',
  spec: { upstream, downstream: { repo: `r${at}`, package: 'web' } },
  isOpen: false,
  isTerminating: false,
  ...more,
})
const variants = (size: number, more: Partial<ObservedVariant> = {}): readonly ObservedVariant[] =>
  manyOf(size).map((at) => variant(at, more))

function plan(targets: Targets, more: Partial<ObservedSet> & { readonly rollout?: SetSpec['rollout'] } = {}): void {
  const { rollout, ...others } = more
  planSet({
    name: 'fleet',
    spec: { upstream, targets, ...(rollout && { rollout }) },
    upstream: { revision: repository('catalog.web.v1'), reference: upstream },
    repositories: [],
    objects: () => ({ objects: [] }),
    variants: [],
    ...others,
  })
}

const all = { repositorySelector: { matchLabels: { env: 'prod' } } }
const named = (size: number): Record<string, string> => Object.fromEntries(manyOf(size).map((at) => [`k${at}`, 'v']))
const entries = (size: number): { key: string; valueExpr: string }[] =>
  manyOf(size).map((at) => ({ key: `k${at}`, valueExpr: 'repository.name' }))
const withTemplate = (template: Template): void => plan([{ ...all, template }], { repositories: repositories(2) })

const kptfile = (more = ''): string => `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n${more}`
const point = (at: number): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: p${at}\n  annotations:\n    kpt.dev/config-injection: required\ndata: {}\n`
const inOneFile = (size: number): PackageText => ({
  Kptfile: kptfile(),
  'a.yaml': manyOf(size)
    .map((at) => point(at))
    .join('---\n'),
})
const inFiles = (size: number): PackageText => ({
  Kptfile: kptfile(),
  ...Object.fromEntries(manyOf(size).map((at) => [`p${at}.yaml`, point(at)])),
})
const sources = new Map<string, KubeObject>([
  ['settings', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: 'b' } }],
])

function inject(
  files: PackageText,
  injectors: readonly { readonly name: string }[] = [{ name: 'settings' }],
): PackageText {
  const { points } = injectionPoints(files)
  return withInjection(
    files,
    points.map((one) => decideInjection(one, injectors, { objects: sources })),
  )
}

const revision = (at: number, more: Partial<ObservedRevision> = {}): ObservedRevision =>
  ({
    name: `catalog.web.v${at}`,
    repository: 'catalog',
    packageName: 'web',
    workspaceName: `packagevariant-${at}`,
    revision: at + 1,
    lifecycle: 'Published',
    labels: { 'app.kubernetes.io/version': `1.${at}.0` },
    version: `1.${at}.0`,
    commit: `c${at}`,
    ref: `refs/tags/web/v${at}`,
    ...more,
  }) as ObservedRevision
const revisions = (size: number): readonly ObservedRevision[] => manyOf(size).map((at) => revision(at))

const contextOf = (packageContext: object): Parameters<typeof withContext>[1] => ({
  variant: 'web',
  packageName: 'web',
  packageContext,
})

const functions = (size: number): { name: string; image: string; configMap: Record<string, string> }[] =>
  manyOf(size).map((at) => ({ name: `f${at}`, image: 'set-labels', configMap: { a: 'b' } }))

const shapes: Readonly<Record<string, (size: number) => unknown>> = {
  'repositories that a selector selects': (size) => plan([all], { repositories: repositories(size) }),
  'variants that exist': (size) => plan([all], { repositories: repositories(size), variants: variants(size) }),
  'variants that nothing selects': (size) => plan([all], { variants: variants(size) }),
  'variants that are being deleted': (size) =>
    plan([all], { repositories: repositories(size), variants: variants(size, { isTerminating: true }) }),
  'variants whose downstream was changed by hand': (size) =>
    plan([all], { repositories: repositories(size), variants: variants(size, { repo: 'other' }) }),
  'variants while a rollout is paced': (size) =>
    plan([all], {
      repositories: repositories(size),
      variants: variants(size / 2, { isOpen: true }),
      rollout: { maxDrafts: 10, order: 'repository.name' },
    }),
  'repositories that are listed': (size) =>
    plan([{ repositories: manyOf(size).map((at) => ({ name: `r${at}` })) }], { variants: variants(size) }),
  'packages of a listed repository': (size) =>
    plan([{ repositories: [{ name: 'r0', packageNames: manyOf(size).map((at) => `p${at}`) }] }]),
  'packages beside a selector': (size) =>
    plan([{ ...all, packageNames: manyOf(size).map((at) => `p${at}`) }], { repositories: repositories(2) }),
  'objects that a selector selects': (size) =>
    plan([{ objectSelector: { apiVersion: 'v1', kind: 'Team' } }], {
      objects: () => ({ objects: repositories(size) }),
    }),
  targets: (size) => plan(manyOf(size).map((at) => ({ repositories: [{ name: `r${at}` }] }))),
  'targets that are invalid': (size) => plan(manyOf(size).map(() => ({ repositories: [] }))),
  'targets that want one downstream': (size) => plan(manyOf(size).map(() => ({ repositories: [{ name: 'r' }] }))),
  'downstreams that one target wants twice': (size) =>
    plan([{ repositories: manyOf(2 * size).map((at) => ({ name: `r${at % size}` })) }], { variants: variants(size) }),
  'downstreams whose repository is missing, beside variants': (size) =>
    plan([{ repositories: manyOf(size).map((at) => ({ name: `gone${at}` })), template: {} }], {
      variants: variants(size),
    }),
  'downstreams whose expression fails, beside variants': (size) =>
    plan([{ ...all, template: { downstream: { packageExpr: "repository.labels['none']" } } }], {
      repositories: repositories(size),
      variants: variants(size, { package: 'other' }),
    }),
  'objects whose expression fails, beside variants': (size) =>
    plan(
      [
        {
          objectSelector: { apiVersion: 'v1', kind: 'Team' },
          template: { downstream: { repoExpr: "target.labels['no']" } },
        },
      ],
      {
        objects: () => ({ objects: repositories(size) }),
        variants: variants(size),
      },
    ),
  'labels of a selector': (size) =>
    plan([{ repositorySelector: { matchLabels: named(size) } }], { repositories: repositories(2) }),
  'values of a requirement': (size) =>
    plan(
      [
        {
          repositorySelector: {
            matchExpressions: [{ key: 'env', operator: 'NotIn', values: manyOf(size).map((at) => `v${at}`) }],
          },
        },
      ],
      { repositories: repositories(2) },
    ),
  'labels of a repository': (size) => plan([all], { repositories: [{ ...repository('r'), labels: named(size) }] }),
  'labels of a template': (size) => withTemplate({ labels: named(size), annotations: named(size) }),
  'expressions of a template': (size) => withTemplate({ labelExprs: entries(size), annotationExprs: entries(size) }),
  'expressions of one key': (size) =>
    withTemplate({ labelExprs: manyOf(size).map(() => ({ key: 'k', valueExpr: 'repository.name' })) }),
  'data of a context': (size) =>
    withTemplate({
      packageContext: { data: named(size), dataExprs: entries(size), removeKeys: Object.keys(named(size)) },
    }),
  'keys that a context removes': (size) =>
    withTemplate({ packageContext: { removeKeyExprs: manyOf(size).map((at) => `repository.name + '${size}-${at}'`) } }),
  'injectors of a template': (size) =>
    withTemplate({ injectors: manyOf(size).map(() => ({ nameExpr: 'repository.name' })) }),
  'functions of a template': (size) =>
    withTemplate({ pipeline: { mutators: functions(size), validators: functions(size) } }),
  'expressions of a function': (size) =>
    withTemplate({ pipeline: { mutators: [{ image: 'set-labels', configMapExprs: entries(size) }] } }),
  'characters of an expression': (size) => withTemplate({ downstream: { packageExpr: `'${'x'.repeat(size)}'` } }),
  'terms of an expression': (size) =>
    withTemplate({
      downstream: {
        packageExpr: manyOf(size)
          .map(() => "'x'")
          .join(' + '),
      },
    }),
  'checks of targets': (size) => targetErrors(manyOf(size).map(() => ({}))),
  'names of variants': (size) => variantNames('fleet', variants(size)),
  'names of variants that clash': (size) =>
    variantNames(
      'fleet',
      manyOf(size).map((at) => ({ repo: 'r', package: `${'x-'.repeat(at % 7)}${'y/'.repeat(3)}${at}` })),
      new Set(manyOf(size).map((at) => `fleet-r-${at}`)),
    ),
  'checks of a variant': (size) => {
    const injectors = manyOf(size).map(() => ({ name: '' }))
    const packageContext = { data: named(size), removeKeys: Object.keys(named(size)) }
    specErrors(withDefaults({ upstream, downstream: { repo: 'edge', package: 'web' }, injectors, packageContext }))
  },
  'data of the context of a package': (size) =>
    withContext(
      withContext({ Kptfile: kptfile() }, contextOf({ data: named(size) })),
      contextOf({ data: { other: 'v' }, removeKeys: Object.keys(named(size)) }),
    ),
  'functions of a variant': (size) =>
    withFunctions({ Kptfile: kptfile() }, 'web', { mutators: functions(size), validators: functions(size) } as never),
  'injection points of a file': (size) => inject(inOneFile(size)),
  'injection points in files': (size) => inject(inFiles(size)),
  'injection points that were injected': (size) => inject(inject(inOneFile(size))),
  'injection points of one name': (size) =>
    injectionPoints({
      'a.yaml': manyOf(size)
        .map(() => point(0))
        .join('---\n'),
    }),
  'injectors of a point': (size) =>
    inject(
      inOneFile(1),
      manyOf(size).map((at) => ({ name: `n${at}` })),
    ),
  'revisions of an upstream': (size) => {
    selectUpstream(upstream, revisions(size))
    selectUpstream({ ...upstream, follow: { range: '1.x' } }, revisions(size))
    selectUpstream({ ...upstream, follow: { range: '2.x' } }, revisions(size))
    selectUpstream({ ...upstream, revision: 3 }, revisions(size))
  },
  'revisions of a downstream': (size) => nextWorkspaceName(upstream, revisions(size)),
  'alternatives of a range': (size) =>
    selectUpstream(
      {
        ...upstream,
        follow: {
          range: manyOf(size)
            .map((at) => `${at}.x`)
            .join(' || '),
        },
      },
      revisions(3),
    ),
}

test.each(Object.entries(shapes))('costs grow with the size of a variant or set, not faster: %s', async (_, run) => {
  await expectSteadyGrowth(counter, async (size) => await Promise.resolve(run(size)), 100)
})

test('quadratic work would be seen', async () => {
  const square = async (size: number): Promise<void> => {
    for (let at = 0; at < size / 10; at++) plan([all], { repositories: repositories(size) })
    await Promise.resolve()
  }
  expect(growsTooFast(await stepsOf(counter, square, 100))).toBe(true)
})
