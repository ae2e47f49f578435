// Hostile specs: doubling the size of any list, map or string of a mapping or a map never more than doubles the work
// (n log n), counted in steps.
import {
  Catalog,
  LenientJsonError,
  evaluateStatus,
  findAction,
  mapProblems,
  mergedForm,
  menuOf,
  parseLenientJson,
  parseMapping,
  parseSectionMap,
  parseStatusMap,
  planCommand,
  runsOf,
  sectionsOf,
  selectsComponent,
  targetOf,
  whyOf,
} from '@fairlead/actions'
import type { Resolution } from '@fairlead/actions'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StepCounter } from '../../../test/growth/step-counter.ts'
import { kam, map, trader } from './objects.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

const workOf = (run: () => unknown): Promise<number> => counter.count(async () => run())

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_v, i) => make(i))
const named = <T>(count: number, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(times(count, (index) => [`key-${index}`, make(index)]))

function resolve(mappings: readonly KubeObject[], maps: readonly KubeObject[], resource: KubeObject): Resolution {
  const byKey = new Map(maps.map((one) => [`${one.metadata.namespace!}/${one.metadata.name!}`, one]))
  const find = (namespace: string, name: string): KubeObject | undefined => byKey.get(`${namespace}/${name}`)
  return new Catalog(mappings, find, (namespace) => namespace === 'kappnav').resolve(resource)
}

/** All that is done with a map: events, menu, provenance, forms, merge, plan. */
async function useMap(data: Readonly<Record<string, JsonValue>>, resource: KubeObject = trader): Promise<void> {
  const trusted = map('m', data)
  const untrusted = map('u', data, { namespace: 'stocktrader' })
  mapProblems(trusted)
  const rules = [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'm' }]
  const own = [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'u' }]
  const mappings = [kam('k', rules), kam('o', own, { namespace: 'stocktrader', precedence: 2 })]
  const resolution = resolve(mappings, [trusted, untrusted], resource)
  menuOf(resolution, resource, () => true)
  whyOf(resolution, resource, () => true)
  mergedForm(resolution.merged)
  sectionsOf([parseSectionMap(trusted)], resource)
  const status = parseStatusMap({ data: trusted['data'] }).map
  await evaluateStatus(status, resource as unknown as JsonObject, async () => '{}')
  const action = findAction(resolution.merged, 'a', 'cmd-actions')
  if (action === undefined) return
  await planCommand(
    action,
    { target: targetOf(resource), user: 'ann', body: { 'key-0': 'v0' } },
    {
      merged: resolution.merged,
      settings: {
        namespace: 'jobs',
        serviceAccountName: 'default',
        ttlSeconds: 60,
        deadlineSeconds: 60,
        resources: undefined,
      },
      scope: {
        resource: resource as unknown as JsonObject,
        merged: resolution.merged,
        globalMap: async () => undefined,
        runSnippet: async () => '{"valid": true}',
        callFunction: async () => 'x',
      },
      newUid: () => '1',
    },
  ).catch(() => undefined)
}

/** All that is done with mappings. */
function useMappings(mappings: readonly KubeObject[], resource: KubeObject = trader): void {
  for (const mapping of mappings) parseMapping(mapping)
  const catalog = new Catalog(mappings, () => undefined)
  const resolution = catalog.resolve(resource)
  whyOf(resolution, resource, () => true)
  catalog.statusMapOf(resolution.target)
  catalog.sectionsOf(resource, resolution.target)
}

const rule = (more: JsonObject): JsonObject => ({ apiVersion: '*/*', kind: '*', mapname: 'm', ...more })
const command = (more: JsonObject): JsonObject => ({ name: 'a', image: 'i', 'cmd-pattern': 'run', ...more })
const withMetadata = (metadata: JsonObject): KubeObject =>
  ({ ...trader, metadata: { ...trader.metadata, ...metadata } }) as KubeObject

const mappingShapes: Readonly<Record<string, (n: number) => unknown>> = {
  'rules with one map each': (n) =>
    useMappings([
      kam(
        'k',
        times(n, (i) => rule({ mapname: `m-${i}` })),
      ),
    ]),
  'rules with one map': (n) =>
    useMappings([
      kam(
        'k',
        times(n, () => rule({})),
      ),
    ]),
  'rules with variables': (n) =>
    useMappings([
      kam(
        'k',
        times(n, (i) => rule({ name: '*', mapname: `\${kind}-${i}-\${name}` })),
      ),
    ]),
  'rules with invalid fields': (n) =>
    useMappings([
      kam(
        'k',
        times(n, (i) => ({ kind: i, mapname: '${nope}' })),
      ),
    ]),
  'rules with owners': (n) =>
    useMappings([
      kam(
        'k',
        times(n, (i) => rule({ owner: { kind: 'K', uid: `${i}` }, mapname: `m-${i}` })),
      ),
    ]),
  'owners of the resource': (n) =>
    useMappings(
      [kam('k', [rule({ owner: { kind: 'None' } })])],
      withMetadata({ ownerReferences: times(n, (i) => ({ apiVersion: 'v1', kind: 'K', name: 'o', uid: `${i}` })) }),
    ),
  'status rules': (n) => {
    const made = kam('k', [])
    useMappings([{ ...made, spec: { statusMappings: times(n, (i) => rule({ mapname: `s-${i}` })) } }])
  },
  'section rules': (n) => {
    const made = kam('k', [])
    useMappings([{ ...made, spec: { sectionMappings: times(n, (i) => rule({ mapname: `s-${i}` })) } }])
  },
  mappings: (n) => useMappings(times(n, (i) => kam(`k-${i}`, [rule({ mapname: `m-${i}` })]))),
  'characters of mapname': (n) => useMappings([kam('k', [rule({ mapname: 'm'.repeat(n) })])]),
  'variables in mapname': (n) => useMappings([kam('k', [rule({ mapname: '${kind}'.repeat(n) })])]),
  'open braces in mapname': (n) => useMappings([kam('k', [rule({ mapname: '${'.repeat(n) })])]),
  'characters of apiVersion': (n) => useMappings([kam('k', [rule({ apiVersion: '*/'.repeat(n) })])]),
  'characters of kind, name and subkind': (n) =>
    useMappings([kam('k', [rule({ kind: 'K'.repeat(n), name: 'n'.repeat(n), subkind: 'S'.repeat(n) })])]),
}

const mapShapes: Readonly<Record<string, (n: number) => unknown>> = {
  'url actions': (n) => useMap({ 'url-actions': times(n, (i) => ({ name: `a${i}`, 'url-pattern': 'https://x' })) }),
  'command actions': (n) => useMap({ 'cmd-actions': times(n, (i) => command({ name: `a${i}` })) }),
  'actions of one name': (n) => useMap({ 'url-actions': times(n, () => ({ name: 'a', 'url-pattern': '/' })) }),
  'actions without a name': (n) => useMap({ 'url-actions': times(n, () => ({})) }),
  'actions with one form': (n) =>
    useMap({
      'cmd-actions': times(n, (i) => command({ name: `a${i}`, 'requires-input': 'f' })),
      inputs: { f: { fields: named(n, () => ({ type: 'string' })) } },
    }),
  'actions with one form each': (n) =>
    useMap({
      'cmd-actions': times(n, (i) => command({ name: `a${i}`, 'requires-input': `key-${i}` })),
      inputs: named(n, () => ({ fields: { x: { type: 'string' } } })),
    }),
  'fields of an action': (n) => useMap({ 'cmd-actions': [command(named(n, () => 'x'))] }),
  'characters of a field name': (n) => useMap({ 'cmd-actions': [command({ ['x'.repeat(n)]: 'x' })] }),
  'fields of a form': (n) =>
    useMap({
      'cmd-actions': [command({ 'requires-input': 'f' })],
      inputs: { f: { fields: named(n, () => ({ type: 'string', default: 'x', validator: 'v' })) } },
      snippets: { v: 'function v(x) { return x }' },
    }),
  'choices of a field': (n) =>
    useMap({
      'cmd-actions': [command({ 'requires-input': 'f' })],
      inputs: { f: { fields: { 'key-0': { type: 'multiselect', values: times(n, (i) => `v${i}`) } } } },
    }),
  'arguments of a command': (n) => useMap({ 'cmd-actions': [command({ 'cmd-pattern': 'x '.repeat(n) })] }),
  'quotes in a command': (n) => useMap({ 'cmd-actions': [command({ 'cmd-pattern': `run ${'"'.repeat(n)}` })] }),
  'segments of an argument': (n) =>
    useMap({ 'cmd-actions': [command({ 'cmd-pattern': `run ${'${resource.$.kind}'.repeat(n)}` })] }),
  'steps of a path': (n) =>
    useMap({ 'cmd-actions': [command({ 'cmd-pattern': `run \${resource.$${'.a'.repeat(n)}}` })] }),
  'arguments of a function': (n) =>
    useMap({
      'cmd-actions': [command({ 'cmd-pattern': `run \${snippet.s(${'a,'.repeat(n)}a)}` })],
      snippets: { s: 'x' },
    }),
  'arguments of kubectlGet': (n) =>
    useMap({ 'cmd-actions': [command({ 'cmd-pattern': `run \${func.kubectlGet(${'-A,'.repeat(n)}pods,-o,json)}` })] }),
  'open braces in a pattern': (n) => useMap({ 'url-actions': [{ name: 'a', 'url-pattern': '${'.repeat(n) }] }),
  'nested arguments': (n) =>
    useMap({ 'url-actions': [{ name: 'a', 'url-pattern': `${'${snippet.s('.repeat(n)}x${')}'.repeat(n)}` }] }),
  'dollars in a pattern': (n) => useMap({ 'url-actions': [{ name: 'a', 'url-pattern': '$'.repeat(n) }] }),
  variables: (n) => useMap({ 'url-actions': [], variables: named(n, () => '${resource.$.kind}') }),
  'a chain of variables': (n) =>
    useMap({
      'cmd-actions': [command({ 'cmd-pattern': 'run ${var.key-0}' })],
      variables: named(n, (i) => (i + 1 < n ? `\${var.key-${i + 1}}` : 'x')),
    }),
  'uses of a variable': (n) =>
    useMap({ 'cmd-actions': [command({ 'cmd-pattern': `run ${'${var.v}'.repeat(n)}` })], variables: { v: 'x' } }),
  snippets: (n) => useMap({ 'url-actions': [], snippets: named(n, () => 'function f() {}') }),
  sections: (n) =>
    useMap({
      sections: times(n, (i) => ({ name: `s${i}`, datasource: `d${i}` })),
      'section-datasources': times(n, (i) => ({ name: `d${i}`, labels: ['app'] })),
    }),
  'labels of a section': (n) =>
    useMap(
      {
        sections: [{ name: 's', datasource: 'd' }],
        'section-datasources': [
          { name: 'd', labels: times(n, (i) => `l${i}`), 'label-prefixes': times(n, (i) => `p${i}`) },
        ],
      },
      withMetadata({ labels: named(n, () => 'x') }),
    ),
  'matches of a status map': (n) =>
    useMap({ jsonpath: { expression: '.phase', matches: named(n, () => ({ value: 'Normal' })) } }),
  'steps of the expression of a status map': (n) =>
    useMap({ jsonpath: { expression: '.a'.repeat(n), matches: {}, else: { value: 'x' } } }),
  'characters of kam-defs': (n) => useMap({ 'kam-defs': { metadata: { name: 'x'.repeat(n) }, spec: {} } }),
  'data keys': (n) => useMap({ 'url-actions': [], ...named(n, () => 'x') }),
  'labels of the resource': (n) =>
    useMap(
      { 'url-actions': [{ name: 'a', 'url-pattern': '/', 'enablement-label': 'x' }] },
      withMetadata({ labels: named(n, () => 'x') }),
    ),
}

const lenientShapes: Readonly<Record<string, (n: number) => string>> = {
  'unquoted names': (n) => `{${times(n, (i) => `k${i}: 1`).join(',')}}`,
  'single quotes': (n) => `[${times(n, () => "'x'").join(',')}]`,
  'line breaks in a string': (n) => `"${'\n'.repeat(n)}"`,
  comments: (n) => `[${'/* x */ 1,'.repeat(n)}1]`,
  'line comments': (n) => `[${'# x\n1,'.repeat(n)}1]`,
  'commas without a value': (n) => `[x${','.repeat(n)}]`,
  semicolons: (n) => `[${'1;'.repeat(n)}x]`,
  nesting: (n) => `x${'['.repeat(n)}`,
  escapes: (n) => `['${'\\u0041\\n'.repeat(n)}']`,
  'a string without its end': (n) => `'${'x'.repeat(n)}`,
  'an unquoted word': (n) => 'x'.repeat(n),
  'one name again and again': (n) => `{${times(n, () => 'k: 1').join(',')}}`,
}

const otherShapes: Readonly<Record<string, (n: number) => unknown>> = {
  'maps of a resource': (n) => {
    const mappings = [
      kam(
        'k',
        times(n, (i) => rule({ mapname: `m-${i}` })),
      ),
    ]
    const maps = times(n, (i) => map(`m-${i}`, { 'url-actions': [{ name: 'a', 'url-pattern': '/' }] }))
    const resolution = resolve(mappings, maps, trader)
    whyOf(resolution, trader, () => true)
  },
  'Jobs of a history': (n) =>
    runsOf(
      times(n, (i) => ({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: `j${i}`, namespace: 'a', labels: { 'kappnav-job-type': 'command' } },
      })),
      { name: 'x' },
    ),
  'requirements of the selector of an Application': (n) =>
    selectsComponent(
      { matchLabels: named(n, () => 'x'), matchExpressions: times(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) },
      named(n, () => 'x'),
    ),
}

/** Sizes that are compared. */
const size = 400
/** n log n, and some room for what happens once in a while. */
const allowed = 2 * (Math.log(2 * size) / Math.log(size)) * 1.1

async function expectGrowth(run: (n: number) => unknown): Promise<void> {
  // The first run also fills caches.
  await workOf(() => run(8))
  const once = await workOf(() => run(size))
  const twice = await workOf(() => run(2 * size))
  expect(once).toBeGreaterThan(0)
  expect(twice / once).toBeLessThanOrEqual(allowed)
}

describe('twice as large', () => {
  test.each(Object.entries(mappingShapes))('a mapping costs at most twice as much: %s', (_name, run) =>
    expectGrowth(run),
  )
  test.each(Object.entries(mapShapes))('a map costs at most twice as much: %s', (_name, run) => expectGrowth(run))
  test.each(Object.entries(lenientShapes))('lenient JSON costs at most twice as much: %s', (_name, text) =>
    expectGrowth((n) => {
      try {
        return parseLenientJson(text(n))
      } catch (error) {
        if (error instanceof LenientJsonError) return undefined
        throw error
      }
    }),
  )
  test.each(Object.entries(otherShapes))('a request costs at most twice as much: %s', (_name, run) => expectGrowth(run))

  test('quadratic work would be seen', async () => {
    const rules = (n: number): readonly KubeObject[] =>
      times(n, (i) =>
        kam(
          `k-${i}`,
          times(n, () => rule({})),
        ),
      )
    await expect(expectGrowth((n) => useMappings(rules(n / 8)))).rejects.toThrow('less than or equal')
  })
})
