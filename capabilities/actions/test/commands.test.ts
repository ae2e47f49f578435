// Commands on files, and against a server without the endpoints. With the endpoints: examples/actions.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ActionError, crds } from '@fairlead/actions'
import { commands } from '@fairlead/actions/commands'
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import { CommandError } from '@fairlead/offline'
import { beforeAll, describe, expect, test } from 'vitest'
import { kam, map, trader } from './objects.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-actions-'))
  const files: Readonly<Record<string, string>> = {
    'trader.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trader, namespace: stocktrader}
`,
    'good.yaml': `
apiVersion: actions.kappnav.io/v1
kind: KindActionMapping
metadata: {name: good, namespace: kappnav}
spec:
  mappings:
    - {apiVersion: '*/*', kind: Deployment, mapname: 'kappnav.actions.\${kind}'}
`,
    'schema.yaml': `apiVersion: v1
kind: List
items:
  - apiVersion: actions.kappnav.io/v1
    kind: KindActionMapping
    metadata: {name: schema, namespace: kappnav}
    spec:
      precedence: 10
      mappings:
        - {apiVersion: apps/v1, kind: Deployment, mapname: '\${nope}'}
        - {apiVersion: apps/v1, kind: Deployment, mapnam: x}
`,
    'map.yaml': `---
apiVersion: v1
kind: ConfigMap
metadata: {name: unrelated}
data: {key: value}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kappnav.actions.deployment, namespace: kappnav}
data:
  url-actions: '[{name: "home", "url-pattern": "https://x"}]'
  variables: '{"a": "\${input.x"}'
`,
    'wildcard.yaml': `apiVersion: actions.kappnav.io/v1
kind: KindActionMapping
metadata: {name: w}
spec:
  mappings:
    - apiVersion: */*
`,
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
})

interface Output {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function fairlead(
  name: string,
  args: readonly (string | readonly string[] | undefined)[],
  options: Readonly<Record<string, unknown>> = {},
  client?: Client,
): Promise<Output> {
  const out: string[] = []
  const err: string[] = []
  const command = commands.find((one) => one.name === name)!
  const running = command.run({
    arguments: args,
    options,
    stdin: async () => '',
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    client: async () => client ?? Promise.reject(new Error('no cluster')),
    signal: new AbortController().signal,
  })
  const code = await running.catch((error: unknown) => {
    if (!(error instanceof CommandError) && !(error instanceof ActionError)) throw error
    err.push(error.message)
    return error instanceof CommandError ? error.exitCode : 1
  })
  const print = (lines: readonly string[]): string => lines.join('\n').replaceAll(`${folder}/`, '')
  return { code, out: print(out), err: print(err) }
}

const path = (name: string): string => join(folder, name)

describe('actions lint', () => {
  test('reports file, line and field of every mistake, and checks the other files after an unreadable one', async () => {
    const { code, out, err } = await fairlead('lint', [[folder, path('missing.yaml')]])
    expect(out.split('\n')).toEqual([
      'map.yaml:7: ConfigMap kappnav.actions.deployment: warning: data.url-actions: not strict JSON: a name without quotes (line 1)',
      'map.yaml:7: ConfigMap kappnav.actions.deployment: error: data.variables[a]: "${input.x" has no closing "}"; write $$ for a literal "$"',
      expect.stringMatching(/^schema\.yaml:1: KindActionMapping schema: error: spec\.mappings\[1\]\.mapnam: .*unknown/),
      expect.stringMatching(/^schema\.yaml:1: KindActionMapping schema: error: spec\.precedence: Invalid value: 10: /),
      expect.stringMatching(/^schema\.yaml:1: KindActionMapping schema: error: spec\.mappings\[1\]\.mapname: Required/),
      expect.stringMatching(/^schema\.yaml:1: .*spec\.mappings\[0\]\.mapname: unknown variable \$\{nope\} in mapname/),
      expect.stringMatching(/^wildcard\.yaml:6: .*; quote wildcards: apiVersion: '\*\/\*'$/),
      'missing.yaml: there is no such file or folder; check the path, or write - for standard input',
    ])
    expect({ code, err }).toEqual({ code: 1, err: '3 objects checked: 7 errors, 1 warnings' })
  })

  test('exits with 0 when there are only warnings or nothing to report', async () => {
    expect(await fairlead('lint', [[path('good.yaml')]])).toEqual({
      code: 0,
      out: '',
      err: '1 objects checked: 0 errors, 0 warnings',
    })
  })
})

describe('actions lint on a folder', () => {
  test('leaves out files that are no manifests, such as the example.yaml of an example', async () => {
    const linted = await fairlead('lint', [[join(import.meta.dirname, '../../../examples/actions')]])
    expect(linted).toMatchObject({ code: 0, err: '5 objects checked: 0 errors, 1 warnings' })
  })

  test('exits 2 when there is nothing to check', async () => {
    expect(await fairlead('lint', [[path('trader.yaml')]])).toEqual({
      code: 2,
      out: '',
      err: 'there is nothing to check in trader.yaml: no KindActionMapping and no map of actions',
    })
  })
})

describe('actions why on files', () => {
  test('prints candidates and the resulting actions', async () => {
    expect(
      await fairlead('why', [undefined], {
        filename: [path('trader.yaml')],
        kam: [path('good.yaml')],
        maps: [path('map.yaml')],
      }),
    ).toEqual({
      code: 0,
      out: [
        'kappnav.actions.deployment (kind specific, precedence 1) in kappnav, by kappnav/good spec.mappings[0]: merged',
        '',
        'url home: from kappnav/kappnav.actions.deployment',
      ].join('\n'),
      err: 'ConfigMap kappnav/kappnav.actions.deployment: data.url-actions: not strict JSON: a name without quotes (line 1)',
    })
  })

  test.each([
    [{ filename: [] }, 2, /^Name one resource: TYPE\/NAME in a cluster, or a file with -f$/],
    [{ filename: ['good.yaml'] }, 1, /^There is no resource in good\.yaml$/],
    [{ filename: ['trader.yaml'], kam: ['wildcard.yaml'] }, 1, /^wildcard\.yaml:6: .*quote wildcards/],
    [{ filename: ['trader.yaml'], kam: ['schema.yaml'] }, 1, /^schema\.yaml:1: KindActionMapping schema: spec\./],
  ])('refuses %j with exit code %i', async (files, code, message) => {
    const options = Object.fromEntries(Object.entries(files).map(([key, names]) => [key, names.map(path)]))
    const result = await fairlead('why', [undefined], options)
    expect(result).toMatchObject({ code, out: '' })
    expect(result.err).toMatch(message)
  })
})

describe('commands against a server without the actions endpoints', () => {
  test('run the service locally with the rights of the user', async () => {
    await using server = await ApiServer.start()
    const client = server.client({ manager: 'kubectl' })
    await installDefinitions(client, crds)
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kappnav' } })
    const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    await client.create({
      ...trader,
      metadata: { name: 'trader', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'x' } }, template },
    })
    await client.create(kam('kinds', [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'm' }]))
    const url = { name: 'home', 'url-pattern': 'https://x/${resource.$.metadata.name}' }
    const command = { name: 'go', image: 'i', 'cmd-pattern': 'run ${input.x}', 'requires-input': 'form' }
    const form = { fields: { x: { type: 'string' } } }
    await client.create(map('m', { 'url-actions': [url], 'cmd-actions': [command], inputs: { form } }))
    const on = (
      name: string,
      args: readonly string[],
      options: Readonly<Record<string, unknown>> = {},
    ): Promise<Output> => fairlead(name, args, options, client)
    expect(await on('list', ['deployment/trader'])).toEqual({
      code: 0,
      out: 'TYPE   NAME   TEXT   MAP\nurl    home   home   kappnav/m\ncmd    go     go     kappnav/m',
      err: '',
    })
    expect(await on('run', ['deploy/trader', 'home'])).toEqual({ code: 0, out: 'https://x/trader', err: '' })
    expect(await on('run', ['deploy/trader', 'go'])).toEqual({
      code: 1,
      out: '',
      err: 'validation-error: "x" is required',
    })
    expect(await on('run', ['deploy/trader', 'go'], { input: ['x'] })).toEqual({
      code: 2,
      out: '',
      err: '--input x: write field=value',
    })
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    await client.create({
      ...trader,
      metadata: { name: 'cart', namespace: 'shop' },
      spec: { selector: { matchLabels: { app: 'x' } }, template },
    })
    expect(await on('run', ['deploy/cart', 'go'], { input: ['x=1'] })).toEqual({
      code: 1,
      out: '',
      err: 'There is no deploy/cart in default, but in shop: pass -n shop',
    })
    const ran = await on('run', ['deploy/trader', 'go'], { input: ['x=1'] })
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: '' })
    expect(ran.out).toMatch(/^job\.batch\/kappnav-\S+ created in kappnav$/)
    const job = /kappnav-\S+/.exec(ran.out)![0]
    expect((await on('history', ['Deployment/trader'])).out).toMatch(
      new RegExp(`^STATE .*\\nWaiting +go +Deployment default/trader .* kappnav/${job}$`),
    )
    expect(await on('logs', [job])).toEqual({
      code: 1,
      out: '',
      err: `Job kappnav/${job} has no pods: nothing runs it, or they were deleted`,
    })
  })
})
