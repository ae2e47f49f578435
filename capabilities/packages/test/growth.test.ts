// The cost of a package grows with its size, not with the square of its size: resources, fields, lists, documents,
// packages below and functions, each alone, in renders and merges; in steps that V8 counts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FunctionRunner, PackageFiles } from '@fairlead/packages'
import { functionOf, renderPackage, updatePackage } from '@fairlead/packages'
import { StepCounter } from '../../../test/growth/step-counter.ts'
import { sampleOf } from '../../../test/support/sample.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

const size = 80
/** Twice the size has twice the steps, and a little more where something is sorted. */
const factor = 2.5

const manyOf = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const lines = (count: number, line: (index: number) => string): string => manyOf(count, line).join('')

const local = '  annotations:\n    config.kubernetes.io/local-config: "true"\n'
const configMap = (name: string, data = '  k: v\n'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: default\ndata:\n${data}`
const deployment = (name: string, containers = '        - name: a\n          image: nginx:1\n'): string =>
  `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ${name}\nspec:\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n      volumes:\n        - name: v\n          configMap: {name: c0}\n      containers:\n${containers}`
const kptfile = (...steps: readonly string[]): string =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n${steps.length === 0 ? '' : `pipeline:\n  mutators:\n${steps.map((step) => `    - ${step}\n`).join('')}`}`
const files = (content: Readonly<Record<string, string>>): PackageFiles => new Map(Object.entries(content))
const resources = (count: number): Record<string, string> =>
  Object.fromEntries(
    manyOf(count, (at) => [`r${at}.yaml`, at % 2 === 0 ? configMap(`c${at}`) : deployment(`d${at}`)] as const),
  )

interface Growing {
  readonly title: string
  files(size: number): PackageFiles
}

const steps: readonly string[] = [
  '{image: set-namespace, configMap: {namespace: prod}}',
  '{image: set-labels, configMap: {tier: web}}',
  '{image: set-annotations, configMap: {tier: web}}',
  '{image: set-image, configMap: {name: nginx, newTag: "2"}}',
  '{image: ensure-name-substring, configMap: {prepend: p-}}',
  '{image: search-replace, configMap: {by-path: "data.*", put-value: w}}',
  '{image: apply-setters, configMap: {a: b}}',
  '{image: create-setters, configMap: {a: v}}',
  '{image: list-setters}',
  '{image: apply-replacements, configPath: replacements.yaml}',
  '{image: upsert-resource, configPath: upserted.yaml}',
  '{image: remove-local-config-resources}',
  '{image: kubeconform}',
  '{image: validate-cel, configPath: rules.yaml}',
  '{image: set-labels, configMap: {tier: web}, selectors: [{kind: ConfigMap}], exclude: [{name: c0}]}',
]
const configs: Readonly<Record<string, string>> = {
  'upserted.yaml': configMap('upserted'),
  'replacements.yaml': `apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata:\n  name: r\n${local}replacements:\n  - source: {kind: ConfigMap, name: c0, fieldPath: metadata.name}\n    targets:\n      - select: {kind: Deployment}\n        fieldPaths: ["spec.template.spec.containers.[name=a].image"]\n`,
  'rules.yaml': `apiVersion: fn.fairlead.dev/v1alpha1\nkind: ValidateCEL\nmetadata:\n  name: rules\n${local}rules:\n  - name: data\n    match: {kind: ConfigMap}\n    expression: size(object.data) > 0\n`,
}
const labels = steps[1]!

const renders: readonly Growing[] = [
  ...steps.map((step): Growing => ({
    title: `resources of ${/image: ([\w-]+)/.exec(step)![1]}${step.includes('selectors') ? ' with selectors' : ''}`,
    files: (count) => files({ Kptfile: kptfile(step), ...configs, ...resources(count) }),
  })),
  {
    title: 'documents of a file',
    files: (count) =>
      files({ Kptfile: kptfile(labels), 'a.yaml': manyOf(count, (at) => configMap(`c${at}`)).join('---\n') }),
  },
  {
    title: 'fields of a map',
    files: (count) =>
      files({
        Kptfile: kptfile(labels),
        'a.yaml': configMap(
          'a',
          lines(count, (at) => `  k${at}: v\n`),
        ),
      }),
  },
  {
    title: 'elements of a list',
    files: (count) =>
      files({
        Kptfile: kptfile(steps[3]!),
        'a.yaml': deployment(
          'a',
          lines(count, (at) => `        - name: a${at}\n          image: nginx:1\n`),
        ),
      }),
  },
  {
    title: 'comments',
    files: (count) =>
      files({
        Kptfile: kptfile(labels),
        'a.yaml': configMap(
          'a',
          lines(count, (at) => `  # c${at}\n  k${at}: v # d\n`),
        ),
      }),
  },
  {
    title: 'functions',
    files: (count) => files({ Kptfile: kptfile(...manyOf(count, () => labels)), 'a.yaml': configMap('a') }),
  },
  {
    title: 'selectors of a function',
    files: (count) =>
      files({
        Kptfile: kptfile(
          `{image: set-labels, configMap: {a: b}, selectors: [${manyOf(count, (at) => `{name: x${at}}`).join(', ')}]}`,
        ),
        'a.yaml': configMap('a'),
      }),
  },
  {
    title: 'setters',
    files: (count) =>
      files({
        Kptfile: kptfile('{image: apply-setters, configPath: setters.yaml}'),
        'setters.yaml': configMap(
          'setters',
          lines(count, (at) => `  s${at}: v\n`),
        ),
        'a.yaml': configMap(
          'a',
          lines(count, (at) => `  k${at}: v # kpt-set: \${s${at}}\n`),
        ),
      }),
  },
  {
    title: 'packages below',
    files: (count) =>
      files({
        Kptfile: kptfile(labels),
        ...Object.fromEntries(
          manyOf(count, (at) => [
            [`p${at}/Kptfile`, kptfile(labels)],
            [`p${at}/a.yaml`, configMap('a')],
          ]).flat() as [string, string][],
        ),
      }),
  },
]

const runner: FunctionRunner = {
  inProcess: ({ image = '' }) => functionOf(image),
  run: async () => await Promise.reject(new Error('every function is built in')),
}

async function render(content: PackageFiles): Promise<void> {
  const { error } = await renderPackage(content, runner, { signal: new AbortController().signal })
  if (error !== undefined) throw error
}

const changed = (content: PackageFiles, before: string, after: string): PackageFiles =>
  new Map([...content].map(([path, text]) => [path, String(text).replaceAll(before, after)]))

const merges: readonly (Growing & { readonly before: string })[] = [
  { title: 'resources', before: 'k: v', files: (count) => files({ Kptfile: kptfile(), ...resources(count) }) },
  {
    title: 'documents of a file',
    before: 'k: v',
    files: (count) => files({ Kptfile: kptfile(), 'a.yaml': manyOf(count, (at) => configMap(`c${at}`)).join('---\n') }),
  },
  {
    title: 'fields of a map',
    before: ': v',
    files: (count) =>
      files({
        Kptfile: kptfile(),
        'a.yaml': configMap(
          'a',
          lines(count, (at) => `  k${at}: v\n`),
        ),
      }),
  },
  {
    title: 'elements of a list with keys',
    before: 'nginx:1',
    files: (count) =>
      files({
        Kptfile: kptfile(),
        'a.yaml': deployment(
          'a',
          lines(count, (at) => `        - name: a${at}\n          image: nginx:1\n`),
        ),
      }),
  },
  {
    title: 'functions of a Kptfile',
    before: 'a: b',
    files: (count) =>
      files({ Kptfile: kptfile(...manyOf(count, (at) => `{image: set-labels, name: f${at}, configMap: {a: b}}`)) }),
  },
  {
    title: 'packages below',
    before: 'k: v',
    files: (count) =>
      files({
        Kptfile: kptfile(),
        ...Object.fromEntries(
          manyOf(count, (at) => [
            [`p${at}/Kptfile`, kptfile()],
            [`p${at}/a.yaml`, configMap('a')],
          ]).flat() as [string, string][],
        ),
      }),
  },
]

/** Every value is a conflict: upstream and the local package changed it. */
function merge(base: PackageFiles, before: string): void {
  const [upstream, mine] = [changed(base, before, `${before}1`), changed(base, before, `${before}2`)]
  const { conflicts } = updatePackage({ base, upstream, local: mine, strategy: 'resource-merge', annotate: true })
  if (conflicts.length === 0) throw new Error('both sides changed the same values')
}

async function growth(run: (size: number) => Promise<unknown>): Promise<number> {
  await run(size)
  const [once, twice] = [await counter.count(() => run(size)), await counter.count(() => run(2 * size))]
  return twice / once
}

describe('the steps of a render are in proportion to', () => {
  test.each(sampleOf(renders, 3))('$title', async (growing) => {
    expect(await growth(async (count) => await render(growing.files(count)))).toBeLessThan(factor)
  })
})

describe('the steps of a merge are in proportion to', () => {
  test.each(merges)('$title', async ({ before, files: make }) => {
    expect(await growth(async (count) => await Promise.resolve(merge(make(count), before)))).toBeLessThan(factor)
  })
})
