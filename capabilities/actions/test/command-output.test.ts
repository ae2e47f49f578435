// What commands print: for terminals, for a run that does not end in time, for history and for lint.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JobRunner, actions, crds } from '@fairlead/actions'
import { commands } from '@fairlead/actions/commands'
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { JsonObject } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'
import { kam, map } from './objects.ts'

let client: Client
const stack = new AsyncDisposableStack()

interface Output {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function fairlead(
  name: string,
  args: readonly (string | readonly string[])[],
  options: Readonly<Record<string, unknown>> = {},
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
    client: async () => client,
    signal: new AbortController().signal,
  })
  const code = await running.catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error
    err.push(error.message)
    return error.exitCode
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const script = (source: string): string => `${process.execPath} -e "${source}"`
const go = (name: string, pattern: string): Record<string, string> => ({ name, image: 'i', 'cmd-pattern': pattern })

beforeAll(async () => {
  const runner = stack.use(new JobRunner({ mode: 'process' }))
  const server = stack.use(await ApiServer.start({ podLogs: runner.logs }))
  client = server.client({ manager: 'kubectl' })
  const manager = stack.use(
    await Manager.start({ client: server.client(), crds, setup: (started) => runner.setUp(started) }),
  )
  const instance = await actions.setup(manager, { resolve: new Map(), signal: manager.signal })
  stack.defer(() => instance.stop())
  for (const route of instance.routes ?? []) server.serve(route)
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kappnav' } })
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await client.create({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { matchLabels: labels }, template },
  })
  const evil = '\u001b]0;owned\u0007\u202e'
  await client.create(
    map('m', {
      'url-actions': [
        { name: 'evil', text: evil, 'url-pattern': 'https://x/~1b]52;c;AAAA~07' },
        { name: 'path', 'url-pattern': '/api/v1' },
      ],
      'cmd-actions': [
        { ...go('hangs', script('console.log(1);setInterval(Date,999)')), text: evil },
        go('prints', script('console.log(2)')),
      ],
    }),
  )
  await client.create(kam('kinds', [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'm' }]))
  await eventually(async () => expect((await fairlead('list', ['deploy/web'])).out).toContain('prints'))
})

afterAll(() => stack.disposeAsync())

/** Control characters other than the line breaks between lines, and characters that change the direction. */
const unsafe = /(?!\n)[\p{Cc}\u202A-\u202E]/u

describe('a control character in a map', () => {
  test.each<readonly [string, readonly string[], Readonly<Record<string, unknown>>]>([
    ['list', ['deploy/web'], { all: true, output: 'table' }],
    ['why', ['deploy/web'], { filename: [], kam: [], maps: [], output: 'text' }],
    ['run', ['deploy/web', 'evil'], { input: [], timeout: '1' }],
    ['history', ['deploy/web'], { output: 'table' }],
  ])('is not printed by %s', async (name, args, options) => {
    const { code, out } = await fairlead(name, args, options)
    expect({ code, isUnsafe: unsafe.test(out) }).toEqual({ code: 0, isUnsafe: false })
  })

  test('is printed as its code', async () => {
    expect((await fairlead('list', ['deploy/web'], { output: 'table' })).out).toContain('\\u001b]0;owned\\u0007\\u202e')
  })
})

describe('actions run', () => {
  const options = { input: [], timeout: '1' }

  test('prints the logs, and why a run is not finished, when it waits no longer', async () => {
    const { code, out, err } = await fairlead('run', ['deploy/web', 'hangs'], { ...options, wait: true, timeout: '3' })
    expect({ code, out: out.split('\n').slice(1) }).toEqual({ code: 1, out: ['1', ''] })
    expect(err).toMatch(/^job\.batch\/kappnav-\S+ is not finished after 3 s: it runs$/)
  })

  test('waits until a run is finished, and prints its log', async () => {
    const ran = await fairlead('run', ['deploy/web', 'prints'], { ...options, wait: true, timeout: '60' })
    expect({ code: ran.code, log: ran.out.split('\n')[1] }).toEqual({ code: 0, log: '2' })
  })

  test('prints what would run on a dry run, and creates nothing', async () => {
    const before = (await client.list({ apiVersion: 'batch/v1', kind: 'Job' })).items.length
    const { out } = await fairlead('run', ['deploy/web', 'prints'], { ...options, dryRun: true })
    expect(out).toBe(
      `would create a Job in kappnav as service account default: i ${JSON.stringify(process.execPath)} "-e" "console.log(2)"`,
    )
    expect((await client.list({ apiVersion: 'batch/v1', kind: 'Job' })).items.length).toBe(before)
  })
})

describe('actions history', () => {
  test.each(['deploy/web', 'deployments/web', 'deployment.apps/web', 'Deployment/web'])(
    'finds runs by each name of a kind: %s',
    async (resource) => {
      const { out } = await fairlead('history', [resource], { output: 'table' })
      expect(out).toMatch(/Succeeded +prints +Deployment default\/web/)
    },
  )

  test('prints as many runs as asked for', async () => {
    const { out } = await fairlead('history', ['deploy/web'], { output: 'table', limit: '1' })
    expect(out.split('\n').length).toBe(2)
    expect(await fairlead('history', ['deploy/web'], { limit: 'x' })).toMatchObject({ code: 2 })
  })
})

describe('actions lint', () => {
  test('reports what cannot work, and what another map must define', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-actions-'))
    const file = join(folder, 'map.yaml')
    const urls: readonly JsonObject[] = [
      { name: 'a', 'url-pattern': 'javascript:alert(1)' },
      { name: 'b', 'url-pattern': 'https://${func.nope()}', 'open-window': 'popup' },
      { name: 'c', 'url-pattern': 'https://${snippet.gone(x)}/${var.gone}', 'enablement-lable': 'x' },
      { name: 'd', 'url-pattern': '${func.kubectlGet(pods,--watch,-o,json)}' },
      { name: 'e', 'url-pattern': '${func.kubectlGet(pods,-o,wide)}' },
      { name: '', 'url-pattern': '/x' },
    ]
    const commandActions: readonly JsonObject[] = [
      { name: 'f', image: '--privileged', 'cmd-pattern': 'run ${input.gone}', 'requires-input': 'form' },
      { name: 'g', image: 'i', 'cmd-pattern': 'run ${input.x}' },
      { name: 'h', image: 'i', 'cmd-pattern': 'run', 'requires-input': 'elsewhere' },
    ]
    const inputs = { form: { fields: { x: { type: 'slect', values: 'a,b' } } } }
    const made = map('m', { 'url-actions': urls, 'cmd-actions': commandActions, inputs })
    const rules = kam('k', [
      { apiVersion: 'core/v1', kind: 'Pod', mapname: 'm' },
      { apiVersion: 'v1', kind: 'Pod', mapname: 'UPPER' },
    ])
    await writeFile(file, `${JSON.stringify(made)}\n---\n${JSON.stringify(rules)}\n`)
    const { code, out } = await fairlead('lint', [[file]])
    await rm(folder, { recursive: true })
    const found = out.split('\n').map((line) => line.replace(/^.*?: (?=error|warning)/, ''))
    expect(found).toEqual([
      'error: data.url-actions[5]: an action must be an object with a name; this one is ignored',
      'error: data.url-actions[a].url-pattern: addresses must begin with http://, https:// or /, not javascript:',
      'error: data.url-actions[b].open-window: must be one of current, tab, new, not "popup"',
      'error: data.url-actions[b].url-pattern: unknown function "nope"; the functions are podlist, apppodlist, replicaset, kubectlGet, encode',
      'warning: data.url-actions[c].enablement-lable: unknown field; did you mean enablement-label?',
      'warning: data.url-actions[c].url-pattern: this map has no snippet "gone"',
      'warning: data.url-actions[c].url-pattern: this map has no variable "gone"',
      'error: data.url-actions[d].url-pattern: func.kubectlGet: "--watch" is not supported; the options are -n, -A, -l, --field-selector and -o',
      'error: data.url-actions[e].url-pattern: func.kubectlGet: -o wide is not supported; the formats are json, yaml, name and jsonpath=…',
      'error: data.cmd-actions[f].image: "--privileged" is not an image reference',
      'error: data.cmd-actions[f].cmd-pattern: "${input.gone}": the form of the action has no field "gone"',
      'error: data.cmd-actions[g].cmd-pattern: "${input.x}": the form of the action has no field "x"',
      'warning: data.cmd-actions[h].requires-input: this map has no inputs "elsewhere"',
      'error: data.inputs[form].fields.x.type: must be one of string, select, multiselect, not "slect"',
      'error: data.inputs[form].fields.x.values: must be a list [ … ]; it is ignored',
      'error: spec.mappings[0].apiVersion: "core/v1" matches nothing: the core group has no name; write v1',
      expect.stringMatching(/^error: spec\.mappings\[1\]\.mapname: "UPPER" is not a valid ConfigMap name: /),
    ])
    expect(code).toBe(1)
  })
})
