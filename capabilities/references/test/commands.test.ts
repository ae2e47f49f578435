// `fairlead refs plan|tree|rbac` as the command line calls them, on the files of the example.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command, CommandContext } from '@fairlead/controller'
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { commandsWith } from '@fairlead/references/commands'
import { references } from '../src/index.ts'

const example = fileURLToPath(new URL('../../../examples/database-host/manifests', import.meta.url))
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-references-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function run(
  name: string,
  options: Record<string, unknown>,
  commands?: readonly Command[],
): Promise<{ code: number; out: string; err: string }> {
  const command = (commands ?? (await references.commands!())).find((one) => one.name === name)!
  const [out, err]: [string[], string[]] = [[], []]
  const context: CommandContext = {
    arguments: [],
    options: { output: 'text', ...options },
    stdin: async () => '',
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    client: () => Promise.reject(new Error('needs no cluster')),
    signal: new AbortController().signal,
  }
  const code = await command.run(context).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error
    err.push(error.message)
    return error.exitCode
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const ready = (host: string): string => `apiVersion: examples.fairlead.dev/v1
kind: Database
metadata: { name: main, namespace: team-a }
status: { host: ${host} }
`

describe('fairlead refs plan', () => {
  test('prints what waits and what is refused, and exits with 1', async () => {
    expect(await run('plan', { filename: [example] })).toEqual({
      code: 1,
      err: '',
      out: [
        'ReferenceRule database-host',
        '  wait    App team-a/shop  ValueMissing: annotation examples.fairlead.dev/database: Database team-a/main has no value at status.host',
        '  refuse  App team-a/legacy  ReferenceIgnored: annotation examples.fairlead.dev/database is ignored: spec.databaseHost is set by another client',
        '  wait    App team-b/report  ValueMissing: annotation examples.fairlead.dev/database: Database team-a/main has no value at status.host',
      ].join('\n'),
    })
  })

  test('prints the values once the source has one', async () => {
    const { out } = await run('plan', { filename: [example, file('db.yaml', ready('db.example'))] })
    expect(out).toContain('set     App team-a/shop  Resolved: spec.databaseHost becomes "db.example"')
    const yaml = await run('plan', { filename: [example, file('db.yaml', ready('db.example'))], output: 'yaml' })
    expect(parseYamlDocuments(yaml.out)).toEqual(
      [
        ['shop', 'team-a'],
        ['report', 'team-b'],
      ].map(([name, namespace]) => ({
        apiVersion: 'examples.fairlead.dev/v1',
        kind: 'App',
        metadata: { name, namespace },
        spec: { databaseHost: 'db.example' },
      })),
    )
  })

  test.each([
    ['no file', [], 2, 'Name files or folders'],
    ['a folder that does not exist', ['/nowhere'], 2, '/nowhere'],
    ['no rule', [join(example, '4-apps.yaml')], 1, 'There is no ReferenceRule'],
  ])('%s is an error', async (_, filename, code, message) => {
    const result = await run('plan', { filename })
    expect([result.code, result.err]).toEqual([code, expect.stringContaining(message)])
  })
})

test('fairlead refs tree shows the graph in every format', async () => {
  const text = await run('tree', { filename: [example] })
  expect(text.out.split('\n')).toEqual([
    'App team-a/shop',
    '  -> Database team-a/main  ValueMissing (database-host)',
    'App team-b/report',
    '  -> Database team-a/main  ValueMissing (database-host)',
  ])
  expect((await run('tree', { filename: [example], output: 'mermaid' })).out).toContain('n0 -->|ValueMissing| n1')
  expect((await run('tree', { filename: [example], output: 'dot' })).out).toContain('n0 -> n1 [label="ValueMissing"]')
  expect(JSON.parse((await run('tree', { filename: [example], output: 'json' })).out)).toMatchObject({
    references: [{ from: { name: 'shop' }, to: { name: 'main' } }, { from: { name: 'report' } }],
  })
})

describe('fairlead refs tree on kinds with references of their own', () => {
  const row = (kind: string): string =>
    JSON.stringify([
      { fieldPath: 'hostName', refPath: 'hostRef', group: 'x.dev', version: 'v1', kind, valuePath: 'status.name' },
    ])
  const definition = (kind: string, annotation: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ${kind.toLowerCase()}s.x.dev
  annotations: { references.fairlead.dev/references: '${annotation}' }
spec: { group: x.dev, scope: Namespaced, names: { kind: ${kind}, plural: ${kind.toLowerCase()}s }, versions: [{ name: v1 }] }
`
  const site = `apiVersion: x.dev/v1
kind: Site
metadata: { name: a, generation: 2 }
spec: { hostRef: { name: h } }
`

  test('reads them from the CustomResourceDefinition', async () => {
    const files = [file('crd.yaml', definition('Site', row('Host'))), file('site.yaml', site)]
    expect((await run('tree', { filename: files })).out).toBe(
      'Site default/a\n  -> Host default/h  ReferentNotFound (hostName)',
    )
  })

  test('shows the state that the controller recorded for the present generation', async () => {
    const crd = file('crd.yaml', definition('Site', row('Host')))
    const recorded = (generation: number): string =>
      file(
        `site-${generation}.yaml`,
        `${site}status:
  observedGeneration: ${generation}
  resolvedReferences:
    - { path: hostName, state: Resolved, referent: { group: x.dev, kind: Host, namespace: default, name: h } }
`,
      )
    expect((await run('tree', { filename: [crd, recorded(2)] })).out).toContain('Host default/h  Resolved (hostName)')
    expect((await run('tree', { filename: [crd, recorded(1)] })).out).toContain('ReferentNotFound (hostName)')
  })

  test('takes the definitions of the program that composes it, which files need not repeat', async () => {
    const definitions = parseYamlDocuments(definition('Site', row('Host'))) as unknown as readonly KubeObject[]
    const commands = commandsWith({ definitions: async () => definitions })
    expect((await run('tree', { filename: [file('site.yaml', site)] }, commands)).out).toContain('Host default/h')
  })

  test('refuses an annotation that is no list of references', async () => {
    const files = [file('crd.yaml', definition('Site', '[{}]')), file('site.yaml', site)]
    expect(await run('tree', { filename: files })).toMatchObject({
      code: 1,
      err: expect.stringContaining('CustomResourceDefinition sites.x.dev: the annotation') as string,
    })
  })
})

test('fairlead refs rbac prints the role of the controller, and with a namespace that of the account', async () => {
  const documents = parseYamlDocuments((await run('rbac', { filename: [example], namespace: 'team-a' })).out)
  expect(documents).toMatchObject([
    { kind: 'ClusterRole', metadata: { labels: { 'rbac.fairlead.dev/aggregate-to-references': 'true' } } },
    {
      kind: 'Role',
      metadata: { namespace: 'team-a' },
      rules: [
        { resources: ['apps'], verbs: ['get', 'patch'] },
        { resources: ['databases'], verbs: ['get'] },
      ],
    },
    { kind: 'RoleBinding', subjects: [{ name: 'resolver', namespace: 'team-a' }] },
  ])
})
