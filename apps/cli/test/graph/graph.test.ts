// `fairlead graph` on a cluster: with all rights, with those of one team, on servers that fail, and with many objects.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../src/graph/graph.ts'
import { RecordingTransport } from '../../../../test/support/recorded-client.ts'
import { fairlead } from '../support/command.ts'
import { Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start()
  await stage.copies('team-a', 1)
  await stage.copies('team-b', 500)
})
afterAll(() => stage[Symbol.asyncDispose]())

const options = {
  namespace: 'team-a',
  direction: 'both',
  depth: undefined,
  all: false,
  output: 'tree',
} as const

describe('fairlead graph', () => {
  test('shows what an output comes from, and what a parent leads to', async () => {
    expect((await stage.run(run, options, 'secret/copy-0')).out.split('\n')).toEqual([
      '· Secret/copy-0 in team-a',
      '',
      'Comes from',
      '├─ made from · ConfigMap/input-0',
      '│  └─ read by … MapController/copies  Waiting, NotReported: no controller has reported on it yet',
      '└─ made from · ServiceAccount/owner',
      '   └─ refers to … MapController/copies  Waiting, NotReported: no controller has reported on it yet',
    ])
    expect((await stage.run(run, options, 'sa/owner')).out.split('\n')).toEqual([
      '· ServiceAccount/owner in team-a',
      '',
      'Comes from',
      '└─ refers to … MapController/copies  Waiting, NotReported: no controller has reported on it yet',
      '',
      'Leads to',
      '└─ makes · Secret/copy-0',
    ])
  })

  test('shows a thousand objects by their number, with few requests', async () => {
    let transport: RecordingTransport | undefined
    const recorded = (to: ConstructorParameters<typeof RecordingTransport>[0]): RecordingTransport =>
      (transport = new RecordingTransport(to))
    const { out } = await stage.run(run, options, 'mapcontroller/copies', { recorded })
    expect(out.split('\n')).toContain('└─ reads · 501 configmaps  Exists, each with 1 below (--all shows each)')
    const { requests } = transport!
    // One for each kind that may have owners, and the pages of the kinds in the graph.
    expect(requests.length).toBeLessThan(100)
    const { nodes } = JSON.parse(
      (await stage.run(run, { ...options, output: 'json' }, 'mapcontroller/copies')).out,
    ) as {
      nodes: unknown[]
    }
    expect(nodes.length).toBe(1 + 2 + 2 * 501)
  })

  test('shows a user of one team nothing of the others, and says what cannot be read', async () => {
    const { code, out } = await stage.run(run, options, 'secret/copy-0', { user: 'ann' })
    const lines = out.split('\n')
    expect(code).toBe(0)
    expect(lines.slice(0, 5)).toEqual([
      '· Secret/copy-0 in team-a',
      '',
      'Comes from',
      '├─ made from · ConfigMap/input-0',
      '└─ made from · ServiceAccount/owner',
    ])
    expect(lines).toContain('There may be more, which cannot be read:')
    expect(lines.find((line) => line.includes('mapcontrollers.metacontroller.k8s.io'))).toMatch(
      /^- you have no right to list .* in the whole cluster$/,
    )
    expect(out).not.toContain('team-b')
    await expect(stage.run(run, { ...options, namespace: 'team-b' }, 'secret/copy-0', { user: 'ann' })).rejects.toThrow(
      /secrets "copy-0" is forbidden/,
    )
  })

  test('goes on where the server fails, and says so', async () => {
    const failing = (to: ConstructorParameters<typeof RecordingTransport>[0]): RecordingTransport => {
      const recording = new RecordingTransport(to)
      recording.instead = ({ path }) =>
        path.includes('mapcontrollers')
          ? { status: 400, headers: {}, body: { kind: 'Status', message: 'the disk is full', code: 400 }, warnings: [] }
          : undefined
      return recording
    }
    const { out } = await stage.run(run, options, 'sa/owner', { recorded: failing })
    expect(out.split('\n').slice(-1)).toEqual([
      '- the server failed to list mapcontrollers.metacontroller.k8s.io in the whole cluster: the disk is full',
    ])
  })

  test.each([
    ['nosuch/x', 'The server serves no kind "nosuch"; `kubectl api-resources` lists those that it serves', 1],
    ['configmap/none', 'There is no ConfigMap none in namespace team-a', 1],
    ['configmap', '"configmap" is not an object; write KIND/NAME, for example deployment/web', 2],
    ['a/b/c', '"a/b/c" is not an object; write KIND/NAME, for example deployment/web', 2],
  ])('refuses %s', async (object, message, exitCode) => {
    await expect(stage.run(run, options, object)).rejects.toMatchObject({ message, exitCode })
  })

  test('refuses a depth that is no number', async () => {
    await expect(stage.run(run, { ...options, depth: '0' }, 'sa/owner')).rejects.toMatchObject({
      message: '--depth 0: write a number of steps from 1',
      exitCode: 2,
    })
  })
})

test('the command reads over HTTPS with the kubeconfig that it is given', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-graph-'))
  try {
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, (await stage.server.listen()).kubeconfig)
    const at = ['--kubeconfig', file, '-n', 'team-a']
    expect(await fairlead(['graph', 'secret', 'copy-0', '--direction', 'up', '--depth', '1', ...at])).toEqual({
      code: 0,
      stdout: [
        '· Secret/copy-0 in team-a',
        '',
        'Comes from',
        '├─ made from · ConfigMap/input-0',
        '└─ made from · ServiceAccount/owner',
        '',
      ].join('\n'),
      stderr: '',
    })
    const completed = await fairlead(['__complete', '--', 'graph', ...at, 'secret', 'copy'])
    expect(completed.stdout).toBe('copy-0\n:\n')
    expect((await fairlead(['__complete', '--', 'graph', ...at, 'secret/'])).stdout).toBe('secret/copy-0\n:\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
