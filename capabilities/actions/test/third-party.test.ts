// The shipped mappings, maps and samples of kAppNav: templates are rendered, then parsed, mapped and merged.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  Sandbox,
  evaluateStatus,
  mapProblems,
  mergedForm,
  parseMapping,
  parseStatusMap,
  sectionsOf,
  parseSectionMap,
  targetOf,
} from '@fairlead/actions'
import { asObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, expect, test } from 'vitest'
import { dataPath, describeData } from '../../../test/support/conformance-data.ts'
import { catalog } from './objects.ts'

const folder = dataPath('third-party/kappnav')
const environments = ['minikube', 'minishift', 'okd', 'ocp', 'k8s']

const sandbox = new Sandbox()
afterAll(() => sandbox[Symbol.asyncDispose]())

/** Renders the directives that these templates use: if, else if, else, end over eq, ne, or. */
function render(text: string, environment: string): string {
  const holds = (condition: string): boolean => {
    const all = [...condition.matchAll(/(eq|ne) \.Spec\.Env\.KubeEnv "([^"]*)"/g)].map(
      ([, operator, value]) => (value === environment) === (operator === 'eq'),
    )
    return all.some(Boolean)
  }
  const stack: { taken: boolean; active: boolean }[] = []
  const out: string[] = []
  for (const line of text.split('\n')) {
    const directive = /^\s*\{\{\s*(if|else if|else|end)\b(.*?)\}\}\s*$/.exec(line)
    const top = stack.at(-1)
    if (directive === null) {
      if (stack.every(({ active }) => active)) out.push(line.replaceAll(/\{\{.*?\}\}/g, 'value'))
    } else if (directive[1] === 'if') {
      const active = holds(directive[2]!)
      stack.push({ taken: active, active })
    } else if (directive[1] === 'end') stack.pop()
    else {
      top!.active = !top!.taken && (directive[1] === 'else' || holds(directive[2]!))
      top!.taken ||= top!.active
    }
  }
  return out.join('\n')
}

function objects(environment: string): KubeObject[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml') && !name.endsWith('default_values.yaml'))
    .toSorted()
    .flatMap((name) => parseYamlDocuments(render(readFileSync(join(folder, name), 'utf8'), environment)))
    .flatMap((document) => ((document as JsonObject)['kind'] === undefined ? [] : [asObject(document as JsonObject)]))
}

const inKappnav = ({ metadata, ...rest }: KubeObject): KubeObject =>
  ({ ...rest, metadata: { namespace: 'kappnav', ...metadata } }) as KubeObject

describeData('the maps that kAppNav ships', { minimum: 100, read: () => objects('okd') }, () => {
  test.each(environments)('parse in the environment %s without unexpected problems', (environment) => {
    const all = objects(environment)
    const maps = all.filter(({ kind }) => kind === 'ConfigMap')
    expect(maps.length).toBeGreaterThan(20)
    const refused = maps.flatMap((map) =>
      mapProblems(map)
        .filter(({ code }) => code !== 'LenientJson')
        .map(({ field, message }) => `${map.metadata.name!} ${field}: ${message}`),
    )
    // Maps of the original's tests whose only action exists to be listed, and actions that a template omits for an
    // environment.
    expect(refused.filter((text) => !/needs url-pattern/.test(text))).toEqual([])
    for (const mapping of all.filter(({ kind }) => kind === 'KindActionMapping'))
      expect(parseMapping(mapping).problems).toEqual([])
  })

  test.each([
    ['apps/v1', 'Deployment', 'Liberty', ['kappnav.actions.deployment-liberty', 'kappnav.actions.deployment']],
    ['apps/v1', 'Deployment', '', ['kappnav.actions.deployment']],
    ['v1', 'Pod', '', ['kappnav.actions.pod']],
    ['v1', 'Service', '', ['kappnav.actions.service']],
    ['batch/v1', 'Job', '', ['kappnav.actions.job']],
    ['app.k8s.io/v1beta1', 'Application', '', ['kappnav.actions.application']],
  ])('give %s %s %s its maps by the default mapping', (apiVersion, kind, subkind, expected) => {
    const all = objects('okd').map(inKappnav)
    const resource = {
      apiVersion,
      kind,
      metadata: {
        name: 'x',
        namespace: 'test',
        ...(subkind === '' ? {} : { annotations: { 'kappnav.subkind': subkind } }),
      },
    }
    const { merged } = catalog(
      all.filter(({ kind: one, metadata }) => one === 'KindActionMapping' && metadata.name === 'default'),
      all.filter(({ kind: one }) => one === 'ConfigMap'),
    ).resolve(resource)
    expect(merged.found.map(({ map }) => map.name)).toEqual(expected)
    expect(Object.keys(mergedForm(merged))).toContain('url-actions')
  })

  test("give the results of the original's own test of mappings", () => {
    const all = objects('okd').filter(
      ({ metadata }) =>
        metadata.namespace === 'test' ||
        metadata.name?.startsWith('test.') === true ||
        ['kam1', 'kam2'].includes(metadata.name ?? ''),
    )
    const owner = {
      apiVersion: 'kappnav.operator.kappnav.io/v1',
      kind: 'Kappnav',
      uid: '12345678-aaaa-bbbb-cccc-123456789abc',
      name: 'o',
    }
    const resource = {
      apiVersion: 'tests/v1',
      kind: 'Deployment',
      metadata: { namespace: 'test', annotations: { 'kappnav.subkind': 'Liberty' }, ownerReferences: [owner] },
    }
    const cluster = catalog(
      all.filter(({ kind, metadata }) => kind === 'KindActionMapping' && metadata.namespace === 'test'),
      all
        .filter(({ kind }) => kind === 'ConfigMap')
        .map((map) => ({ ...map, metadata: { ...map.metadata, namespace: 'test' } })),
    )
    expect(cluster.resolve(resource).merged.found.map(({ map }) => map.name)).toEqual([
      'test.actions.test2',
      'test.actions.deployment.test1',
    ])
    expect(cluster.statusMapOf(targetOf(resource))).toHaveProperty('exists')
  })

  test('derive the status of a Deployment', async () => {
    const map = objects('okd').find(({ metadata }) => metadata.name === 'kappnav.status-mapping.deployment')!
    const status = (replicas: number, availableReplicas: number): Promise<unknown> =>
      evaluateStatus(parseStatusMap(map).map, { status: { replicas, availableReplicas } }, sandbox.run)
    expect(await status(2, 2)).toMatchObject({ value: 'Normal' })
    expect(await status(2, 1)).toMatchObject({ value: 'Warning', flyover: 'Desired: 2, Available: 1' })
    expect(await status(2, 0)).toMatchObject({ value: 'Problem' })
  })

  test('show sections only for resources with their labels or annotations', () => {
    const map = objects('okd').find(({ metadata }) => metadata.name === 'kappnav.sections.deployment')!
    const metadata = {
      name: 'x',
      labels: { 'stack.appsody.dev/id': 'java', other: 'y' },
      annotations: { 'stack.appsody.dev/authors': 'me' },
    }
    expect(sectionsOf([parseSectionMap(map)], { metadata })).toMatchObject([
      {
        name: 'appsody',
        labels: { 'stack.appsody.dev/id': 'java' },
        annotations: { 'stack.appsody.dev/authors': 'me' },
      },
    ])
    expect(sectionsOf([parseSectionMap(map)], { metadata: { name: 'x' } })).toEqual([])
  })
})
