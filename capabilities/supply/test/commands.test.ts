// `fairlead supply render|test|tree|rbac` as the command line calls them, on files and on the embedded server.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller'
import { parseYamlDocuments, stringifyYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import { supply } from '@fairlead/supply'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Stage, chain, git, imageTemplate, readyStatus, sourceTemplate, thing, workloadOf } from './stage.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-supply-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** Exit code and output of a command. */
interface Result {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(
  name: string,
  args: readonly string[],
  options: Record<string, unknown> = {},
  client?: Client,
): Promise<Result> {
  const command = (await supply.commands!()).find((one) => one.name === name)!
  const [out, err]: [string[], string[]] = [[], []]
  const context: CommandContext = {
    arguments: args,
    options,
    stdin: async () => '',
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    client: async () => client!,
    signal: new AbortController().signal,
  }
  // As apps/cli does for every command.
  const code = await command.run(context).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error
    err.push(error.message)
    return error.exitCode
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

function writeList(name: string, items: readonly KubeObject[]): string {
  return write(name, stringifyYamlDocuments([{ apiVersion: 'v1', kind: 'List', metadata: {}, items } as KubeObject]))
}

describe('fairlead supply render', () => {
  test('prints the stamped objects of resources whose inputs are known', async () => {
    const file = write(
      'all.yaml',
      stringifyYamlDocuments([chain, sourceTemplate, imageTemplate, workloadOf('app', 'web', git)]),
    )
    const first = await run('render', [], { filename: [file] })
    const note =
      'note: owner references have no uid, because the owners in the files have none: no server accepts these objects'
    expect([first.code, first.err]).toEqual([0, note])
    expect(first.out).toContain('#   image: waiting for [source] of resource [source]')
    expect(first.out.match(/^---$/gm)).toHaveLength(1)
    const live = write(
      'live.yaml',
      stringifyYamlDocuments([
        { ...thing, metadata: { name: 'app-source', namespace: 'team-a' }, status: readyStatus },
      ]),
    )
    const second = await run('render', [], { filename: [file, live] })
    expect(second.out).toContain('from: https://example.test/app.tgz@main@1')
  })

  test('reads outputs only from runs of the same owner', async () => {
    const spec = { ...sourceTemplate.spec, lifecycle: 'immutable' }
    const run1 = {
      ...thing,
      metadata: {
        name: 'one-source',
        namespace: 'team-a',
        labels: {
          'carto.run/workload-name': 'one',
          'carto.run/resource-name': 'source',
          'carto.run/template-kind': 'ClusterSourceTemplate',
          'carto.run/cluster-template-name': 'source',
        },
      },
      status: readyStatus,
    }
    const owners = ['one', 'two'].map((name) => workloadOf(name, 'web', git))
    const file = write(
      'all.yaml',
      stringifyYamlDocuments([chain, { ...sourceTemplate, spec } as KubeObject, imageTemplate, run1, ...owners]),
    )
    const { out } = await run('render', [], { filename: [file] })
    expect(out.split('\n').filter((line) => line.startsWith('#'))).toEqual([
      '# workload/one by ClusterSupplyChain chain',
      '#   image: waiting to read value [.status.image] from object [things.test.run/one-image] in namespace [team-a]',
      '#   source: stamped',
      '# workload/two by ClusterSupplyChain chain',
      '#   image: waiting for [source] of resource [source]',
      '#   source: waiting for outputs: the object is not healthy yet',
    ])
  })

  test('takes Lists apart', async () => {
    const file = writeList('list.yaml', [chain, sourceTemplate, imageTemplate, workloadOf('app', 'web', git)])
    const { code, out } = await run('render', [], { filename: [file] })
    expect([code, out.split('\n')[0]]).toEqual([0, '# workload/app by ClusterSupplyChain chain'])
  })

  test('reports file and line of a document that is not a Kubernetes object', async () => {
    const file = write('bad.yaml', `${stringifyYamlDocuments([chain])}---\nmetadata: {name: app}\n`)
    const { code, out, err } = await run('render', [], { filename: [file] })
    const line = stringifyYamlDocuments([chain]).split('\n').length + 1
    expect([code, out, err]).toEqual([
      1,
      '',
      `${file}:${line}: apiVersion is missing; every object needs apiVersion and kind`,
    ])
  })

  test('reports file, line and field of an object that its CRD rejects', async () => {
    const spec = { ...sourceTemplate.spec, lifecycle: 'sometimes' }
    const file = write('all.yaml', stringifyYamlDocuments([{ ...sourceTemplate, spec } as KubeObject]))
    const { code, out, err } = await run('render', [], { filename: [file] })
    expect([code, out, err]).toEqual([
      1,
      '',
      `${file}:1: ClusterSourceTemplate source: spec.lifecycle: Unsupported value: "sometimes": supported values: "mutable", "immutable", "tekton"`,
    ])
  })

  test('reports errors of templates, of files, and of missing arguments', async () => {
    const broken = { ...sourceTemplate, spec: { ...sourceTemplate.spec, urlPath: '.status[' } }
    const file = write(
      'all.yaml',
      stringifyYamlDocuments([chain, broken, imageTemplate, workloadOf('app', 'web', git)]),
    )
    const { code, err } = await run('render', [], { filename: [file] })
    expect([code, err]).toEqual([1, expect.stringContaining('ClusterSourceTemplate source: spec.urlPath: ')])
    expect(await run('render', [], { filename: [write('bad.yaml', 'a: [')] })).toMatchObject({
      code: 1,
      err: expect.stringContaining('bad.yaml:1') as string,
    })
    expect((await run('render', [])).code).toBe(2)
  })
})

describe('fairlead supply test', () => {
  test('runs tests of templates, which inherit settings from the folders above', async () => {
    write(
      'workload.yaml',
      stringifyYamlDocuments([{ ...workloadOf('app', 'web', git), spec: { params: [{ name: 'a', value: 1 }] } }]),
    )
    write(
      'info.yaml',
      'given: {mockSupplyChain: {blueprintParams: [{name: a, default: 2}]}}\ncompareOptions: {ignoreOwnerRefs: true, ignoreLabels: true}\n',
    )
    const template = {
      ...imageTemplate,
      spec: { imagePath: '.x', template: { ...thing, metadata: { name: 'x' }, spec: { a: '$(params.a)$' } } },
    }
    const expected = (a: number): string =>
      stringifyYamlDocuments([{ ...thing, metadata: { name: 'x', namespace: 'team-a' }, spec: { a } }])
    for (const [name, a] of [
      ['right', 1],
      ['wrong', 2],
    ] as const) {
      write(`${name}/template.yaml`, stringifyYamlDocuments([template]))
      write(`${name}/expected.yaml`, expected(a))
    }
    const { code, out } = await run('test', [folder])
    expect([code, out.split('\n')]).toEqual([
      1,
      ['passed  right', 'failed  wrong', '    .spec.a: expected 2, stamped 1', '1 passed, 1 failed'],
    ])
  })

  test('runs tests of health rules', async () => {
    const rule = 'healthyConditionRule: {singleConditionType: Ready}\n'
    const cases = (status: string): string =>
      `cases:\n- name: fetched\n  object: {apiVersion: v1, kind: K, status: {conditions: [{type: Ready, status: "True"}]}}\n  expect: {status: "${status}", reason: ReadyCondition}\n`
    write('a/health_test.yaml', rule + cases('True'))
    expect(await run('test', [folder])).toEqual({
      code: 0,
      out: 'passed  a/health_test.yaml: fetched\n1 passed, 0 failed',
      err: '',
    })
    write('a/health_test.yaml', rule + cases('False'))
    expect((await run('test', [folder])).out).toContain('    status: expected "False", is "True"')
    expect((await run('test', [join(folder, 'none')])).code).toBe(2)
  })

  test('exits 2 for a folder without tests, so that a folder that moved does not leave CI green', async () => {
    write('empty/readme.md', '')
    const { code, out, err } = await run('test', [join(folder, 'empty')])
    expect({ code, out, err: err.replace(folder, '') }).toEqual({
      code: 2,
      out: '',
      err: 'there are no tests in /empty: a test is a folder with template.yaml or info.yaml and expected.yaml (cartotest), or a file health_test.yaml',
    })
    expect(await run('test', [join(folder, 'empty/readme.md')])).toMatchObject({ code: 2 })
  })
})

describe('fairlead supply tree', () => {
  test('prints health, inputs, outputs, and why a resource waits', async () => {
    await using stage = await Stage.set()
    await stage.apply(sourceTemplate, imageTemplate, chain, workloadOf('app', 'web', git))
    await stage.client.waitFor(thing, 'team-a/app-source', () => true)
    await stage.setStatus('team-a/app-source', readyStatus)
    await stage.owner('team-a/app', (owner) => owner.status?.resources?.[0]?.stampedRef !== undefined)
    const { code, out } = await run('tree', ['workload/app'], { namespace: 'team-a' }, stage.client)
    expect([code, out.split('\n')]).toEqual([
      3,
      [
        'Workload team-a/app  Ready: Unknown (MissingValueAtPath) waiting to read value [.status.image] from object [things.test.run/app-image] in namespace [team-a]',
        '└─ chain',
        '   ├─ image  things.test.run/app-image  from source',
        '   │     ResourceSubmitted: Unknown (MissingValueAtPath) waiting to read value [.status.image] from object [things.test.run/app-image] in namespace [team-a]',
        '   │     Healthy: Unknown (OutputNotAvailable)',
        '   └─ source  things.test.run/app-source',
        '         Healthy: True (ReadyCondition) fetched',
        '         url: https://example.test/app.tgz',
        '         revision: main@1',
      ],
    ])
    const inTeam = stage.client.with({ namespace: 'team-a' })
    expect((await run('tree', ['workload/app'], {}, inTeam)).out).toBe(out)
    expect((await run('tree', ['nonsense'], {}, stage.client)).code).toBe(2)
    expect((await run('tree', ['workload/none'], { namespace: 'team-a' }, stage.client)).code).toBe(1)
  })
})

describe('fairlead supply rbac', () => {
  test('takes Lists apart and reads plurals from CRDs', async () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'thingies.test.run' },
      spec: {
        group: 'test.run',
        scope: 'Namespaced',
        names: { kind: 'Thing', plural: 'thingies' },
        versions: [{ name: 'v1', served: true, storage: true }],
      },
    }
    const { code, out } = await run('rbac', [], { filename: [writeList('list.yaml', [sourceTemplate, definition])] })
    expect([code, out]).toEqual([0, expect.stringContaining('  resources:\n  - thingies\n')])
  })

  test('reports file and line of a malformed document', async () => {
    const file = write('bad.yaml', '- apiVersion: carto.run/v1alpha1\n')
    const { code, out, err } = await run('rbac', [], { filename: [file] })
    expect([code, out, err]).toEqual([1, '', `${file}:1: expected an object with apiVersion and kind, found a list`])
  })

  test('prints the role of the account that stamps, and the kinds that Runnables select', async () => {
    const selecting = {
      apiVersion: 'carto.run/v1alpha1',
      kind: 'Runnable',
      metadata: { name: 'r' },
      spec: {
        runTemplateRef: { name: 'r' },
        selector: { resource: { apiVersion: 'v1', kind: 'Secret' }, matchingLabels: { a: 'b' } },
      },
    }
    const { code, out } = await run('rbac', [], {
      filename: [write('t.yaml', stringifyYamlDocuments([sourceTemplate, selecting]))],
      name: 'stamped',
      serviceAccount: 'team-a/builder',
    })
    const [watched, role, binding] = parseYamlDocuments(out) as unknown as {
      rules: object
      metadata: object
      subjects: object
    }[]
    expect([code, watched?.rules, role?.rules, role?.metadata, binding?.subjects]).toEqual([
      0,
      [
        { apiGroups: ['test.run'], resources: ['things'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] },
      ],
      [{ apiGroups: ['test.run'], resources: ['things'], verbs: ['get', 'list', 'create', 'patch', 'delete'] }],
      { name: 'fairlead-supply-builder', namespace: 'team-a' },
      [{ kind: 'ServiceAccount', name: 'builder', namespace: 'team-a' }],
    ])
  })

  test('prints the kinds that the controller must watch', async () => {
    const { code, out } = await run('rbac', [], {
      filename: [write('t.yaml', stringifyYamlDocuments([sourceTemplate, imageTemplate]))],
      name: 'stamped',
    })
    expect([code, out]).toEqual([
      0,
      'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  labels:\n    rbac.fairlead.dev/aggregate-to-supply: "true"\n  name: stamped\nrules:\n- apiGroups:\n  - test.run\n  resources:\n  - things\n  verbs:\n  - get\n  - list\n  - watch\n',
    ])
  })
})
