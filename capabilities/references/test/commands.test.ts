// `fairlead refs plan|tree|rbac` as the command line calls them, on the files of the example.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandContext } from '@fairlead/controller'
import { parseYamlDocuments } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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
): Promise<{ code: number; out: string; err: string }> {
  const command = (await references.commands!()).find((one) => one.name === name)!
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
