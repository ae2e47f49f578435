// `fairlead variant convert|rbac|tree` as the command line calls them.
import { expect, onTestFinished, test } from 'vitest'
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller'
import { parseYamlDocuments } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import { variants } from '@fairlead/variants'
import { SetStage } from './set-stage.ts'

interface Result {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(
  name: string,
  { stdin = '', client, ...given }: { stdin?: string; client?: Client; args?: string[]; options?: object },
): Promise<Result> {
  const command = (await variants.commands!()).find((one) => one.name === name)!
  const [out, err]: [string[], string[]] = [[], []]
  const context: CommandContext = {
    arguments: given.args ?? [],
    options: { filename: ['-'], ...given.options },
    stdin: async () => stdin,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    client: async () => client!,
    signal: new AbortController().signal,
  }
  const code = await command.run(context).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error
    err.push(error.message)
    return error.exitCode
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const former = (spec: string): string => `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariantSet
metadata:
  name: fleet
  namespace: team-a
spec:
${spec}`

test('convert prints every target of a v1alpha1 set in its v1alpha2 form', async () => {
  const { code, out } = await run('convert', {
    stdin: former(`  upstream:
    package: {repo: blueprints, name: foo}
    ref: stable
  deletionPolicy: orphan
  targets:
    - package: {repo: edge-1, name: alpha}
    - repositories: {matchLabels: {env: prod}}
      packageName: {namePrefix: {value: p-}, baseName: {value: beta}}
    - objects:
        selectors:
          - {apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {team: red}}}
          - {apiVersion: v1, kind: Pod, name: one}
        repoName: {fromField: "metadata.labels['repo']"}
      packageName: {nameSuffix: {fromField: metadata.name}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: other
`),
  })
  expect(code).toBe(0)
  const downstream = { repoExpr: 'target.labels["repo"]', packageExpr: '"foo" + target.name' }
  expect(parseYamlDocuments(out)).toEqual([
    {
      apiVersion: 'config.porch.kpt.dev/v1alpha2',
      kind: 'PackageVariantSet',
      metadata: { name: 'fleet', namespace: 'team-a' },
      spec: {
        upstream: { repo: 'blueprints', package: 'foo', follow: { tag: 'stable' } },
        targets: [
          { repositories: [{ name: 'edge-1', packageNames: ['alpha'] }], template: { deletionPolicy: 'orphan' } },
          {
            repositorySelector: { matchLabels: { env: 'prod' } },
            template: { downstream: { package: 'p-beta' }, deletionPolicy: 'orphan' },
          },
          {
            objectSelector: { apiVersion: 'v1', kind: 'ConfigMap', matchLabels: { team: 'red' } },
            template: { downstream, deletionPolicy: 'orphan' },
          },
          {
            objectSelector: { apiVersion: 'v1', kind: 'Pod', name: 'one' },
            template: { downstream, deletionPolicy: 'orphan' },
          },
        ],
      },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other' } },
  ])
})

test('convert prints nothing when a part has no v1alpha2 form, and names each such field', async () => {
  const result = await run('convert', {
    stdin: former(`  upstream: {package: {repo: blueprints, name: foo}, revision: 1}
  targets:
    - objects:
        selectors: [{apiVersion: v1, kind: Pod, namespace: other, annotations: {a: b}}]
        repoName: {fromField: spec.nodeName}
`),
  })
  expect(result).toMatchObject({ code: 1, out: '' })
  const place = 'standard input:1: spec.targets[0].objects'
  expect(result.err.split('\n')).toEqual([
    `${place}.repoName.fromField: spec.nodeName cannot be read; expressions see name, namespace, labels and annotations`,
    `${place}.selectors[0].namespace: objects are only selected in the namespace of the set; leave it out`,
    `${place}.selectors[0].annotations: objects are selected by labels only; add a label to them`,
  ])
})

test('rbac prints the kinds that sets select and variants inject', async () => {
  const { out, err } = await run('rbac', {
    options: { name: 'kinds' },
    stdin: `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: fleet}
spec:
  upstream: {repo: blueprints, package: foo}
  targets:
    - objectSelector: {apiVersion: hr.example.com/v1, kind: Team}
      template:
        injectors:
          - {kind: ConfigMap, nameExpr: target.name}
          - {name: any}
`,
  })
  expect(parseYamlDocuments(out)).toEqual([
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'kinds', labels: { 'rbac.fairlead.dev/aggregate-to-variants': 'true' } },
      rules: [
        { apiGroups: ['hr.example.com'], resources: ['teams'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
      ],
    },
  ])
  expect(err).toBe('Some injectors name no kind: add the kinds of the injection points of their packages by hand')
})

test('tree shows the variants of a set and the failures of its targets', async () => {
  const stage = await SetStage.start()
  onTestFinished(() => stage[Symbol.asyncDispose]())
  await stage.publish('catalog', 'web', 'one')
  await stage.repository('edge-1')
  const template = { labels: { tier: 'one' } }
  const repositories = [{ name: 'edge-1' }, { name: 'edge-2' }]
  await stage.apply('fleet', { upstream: { repo: 'catalog', package: 'web' }, targets: [{ repositories, template }] })
  await stage.set('fleet', ({ status }) => status?.failed === 1 && status.variants === 1)
  const { code, out } = await run('tree', {
    args: ['fleet'],
    options: { namespace: 'team-a' },
    client: stage.client,
  })
  expect(code).toBe(3)
  const lines = out.split('\n')
  expect(lines[0]).toMatch(/^PackageVariantSet team-a\/fleet of catalog\/web {2}Ready: False \(TargetsFailing\) /)
  expect(lines[1]).toMatch(/^├─ edge-1\/web {2}nothing published/)
  expect(lines.at(-1)).toBe(
    '└─ spec.targets[0]  RepositoryNotFound: repository edge-2: repository "edge-2" could not be loaded: it does not exist',
  )
})
