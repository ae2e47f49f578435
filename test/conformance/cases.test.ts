// The runner of engine cases: what the formats say about inputs, comparisons and unknown keys.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runFile } from './cases/run.ts'

let folder = ''
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'fairlead-cases-'))))
afterAll(() => rmSync(folder, { recursive: true }))

async function outcome(file: string, area: string, input: object, want: object): Promise<string> {
  const path = join(folder, file)
  writeFileSync(path, JSON.stringify({ about: '', cases: [{ id: 'one', area, input, want }] }))
  return (await runFile(path))[0]!.outcome
}

const upstream = { repo: 'catalog', package: 'web' }
const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`
const kptfile =
  'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: root\npipeline:\n  mutators:\n  - image: fn:v1\n'

test.each<[string, string, string, object, object]>([
  [
    'objects of a selector are Kubernetes objects',
    'porch.json',
    'pvs-targets',
    {
      upstream,
      targets: [{ objectSelector: { apiVersion: 'example.org/v1', kind: 'Site', matchLabels: { env: 'prod' } } }],
      repositories: [],
      objects: [{ apiVersion: 'example.org/v1', kind: 'Site', metadata: { name: 's1', labels: { env: 'prod' } } }],
    },
    { pairs: [['s1', 'web']], failures: [] },
  ],
  [
    'a rendered template has the downstream that it says',
    'porch.json',
    'pvs-render',
    {
      template: { downstream: { repoExpr: "repoDefault + '-2'", package: 'db' } },
      variables: { repoDefault: 'edge', packageDefault: 'web', upstream: { name: 'u', labels: {}, annotations: {} } },
    },
    { spec: { downstream: { repo: 'edge-2', package: 'db' } } },
  ],
  [
    'messages match in any order',
    'porch.json',
    'pvs-validate',
    { targets: [{ repositories: [{ name: 'e', packageNames: [] }, { name: '' }] }] },
    { errors: [['repositories[1].name'], ['repositories']] },
  ],
  [
    'only what changes the content makes a revision',
    'porch.json',
    'pv-upgrade',
    {
      upstream,
      downstream: {
        repo: 'edge',
        package: 'web',
        workspaceName: 'packagevariant-1',
        revision: 1,
        lifecycle: 'Published',
        upstream: { workspaceName: 'v1', revision: 1 },
      },
      upstreamNow: { workspaceName: 'v1', revision: 1 },
      changed: ['spec.labels'],
    },
    { newRevision: null, rebased: null, lifecycle: 'Published', writes: 0 },
  ],
  [
    'files without resources are left out of the resources of a merge, and equal ones count twice',
    'porch.json',
    'merge3',
    {
      strategy: 'resource-merge',
      base: {},
      upstream: {},
      local: { 'a/c.yaml': configMap('c'), 'b/c.yaml': configMap('c'), 'run.sh': '#!/bin/sh\n{[' },
    },
    {
      resources: [
        { kind: 'ConfigMap', metadata: { name: 'c' }, apiVersion: 'v1' },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } },
      ],
    },
  ],
  [
    'a test function replaces resources in their file',
    'porch.json',
    'render',
    {
      files: { Kptfile: kptfile, 'a.yaml': configMap('a'), 'y.yaml': configMap('y') },
      functions: { 'fn:v1': { does: 'replace', path: 'a.yaml', text: configMap('b') } },
    },
    { paths: ['Kptfile', 'a.yaml', 'y.yaml'], files: { 'a.yaml': configMap('b'), 'y.yaml': configMap('y') } },
  ],
  [
    'a name that cannot be made has the error of the generator',
    'ack.json',
    'ref-names',
    { ref_naming: 'ack', fields: [{ name: 'Arn', list: false }] },
    { names: [{ error: ['Arn', 'ref_field'] }] },
  ],
])('%s', async (_, file, area, input, want) => {
  expect(await outcome(file, area, input, want)).toBe('passed')
})

const endpoint = {
  table: { Endpoint: [{ field: 'configName', ref: 'configNameRef', kind: 'Config', value: 'spec.configName' }] },
  objects: [{ kind: 'Endpoint', namespace: 'a', name: 'ep', spec: { endpointName: 'ep', configName: 'c' } }],
  crossNamespace: false,
  reconcile: 'Endpoint/a/ep',
}

test.each<[string, string, string, object, object]>([
  ['a resolved value that is not wanted', 'ack.json', 'resolution', endpoint, { resolved: {} }],
  ['a key that a condition does not have', 'ack.json', 'resolution', endpoint, { condition: { state: 'True' } }],
  ['an admission that is neither', 'ack.json', 'resolution', endpoint, { admission: 'perhaps' }],
  [
    'a key that an object does not have',
    'ack.json',
    'resolution',
    { ...endpoint, objects: [{ ...endpoint.objects[0], ready: true }] },
    { awsCalls: ['DescribeEndpoint', 'CreateEndpoint'] },
  ],
  ['an area that is not known', 'ack.json', 'resolutions', endpoint, {}],
  ['a key of the input that is not known', 'kappnav.json', 'command-line', { line: 'a', more: 1 }, { argv: ['a'] }],
])('%s fails the case', async (_, file, area, input, want) => {
  expect(await outcome(file, area, input, want)).toBe('failed')
})
