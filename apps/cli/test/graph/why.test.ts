// `fairlead why` on a cluster: exit codes, the way to a cause, events, and what a user may not read.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { crd } from '../../../../test/support/crd.ts'
import { RecordingTransport } from '../../../../test/support/recorded-client.ts'
import { run } from '../../src/graph/why.ts'
import { fairlead } from '../support/command.ts'
import { Stage } from './stage.ts'

const options = { namespace: 'team-a', all: false, output: 'text' } as const
const widget = { apiVersion: 'test.dev/v1', kind: 'Widget' }

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start([crd({ group: 'test.dev', kind: 'Widget', status: true })])
  const { client } = stage
  const ready = async (name: string, status: 'True' | 'False', message: string): Promise<KubeObject> => {
    const key = { namespace: 'team-a', name }
    await client.create({ ...widget, metadata: key })
    const time = '2026-01-01T00:00:00Z'
    const conditions = [{ type: 'Ready', status, reason: 'Tried', message, lastTransitionTime: time }]
    return client.patch(widget, key, { merge: { status: { conditions } } }, { subresource: 'status' })
  }
  await ready('well', 'True', 'it works')
  const broken = await ready('broken', 'False', 'a part is missing')
  const { uid = '' } = broken.metadata
  const ownerReferences = [{ ...widget, name: 'broken', uid, controller: true }]
  await client.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'broken-0', namespace: 'team-a', ownerReferences },
    spec: {
      containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name: 'password' } }] }],
      nodeSelector: { nowhere: 'yes' },
    },
  } as KubeObject)
  await client.create({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'broken.1', namespace: 'team-a' },
    involvedObject: { ...widget, namespace: 'team-a', name: 'broken', uid },
    type: 'Warning',
    reason: 'PartFailed',
    message: 'the part was not found',
    count: 3,
    lastTimestamp: '2026-01-01T00:00:00Z',
  } as KubeObject)
})
afterAll(() => stage[Symbol.asyncDispose]())

/** Returns lines without the ages of events. */
const linesOf = (out: string): readonly string[] => out.replaceAll(/\d+[smhd] ago/g, 'AGE ago').split('\n')

describe('fairlead why', () => {
  test('ends with 0 for an object that is ready', async () => {
    expect(await stage.run(run, options, 'widget/well')).toEqual({
      code: 0,
      out: '✓ Widget/well in team-a is ready: it works\n\nNothing is waited for.',
      err: '',
    })
  })

  test('ends with 3 for one that is not, and leads to what is missing', async () => {
    const { code, out } = await stage.run(run, options, 'widget/broken')
    expect({ code, lines: linesOf(out) }).toEqual({
      code: 3,
      lines: [
        '✗ Widget/broken in team-a is not ready: Tried: a part is missing',
        '  event PartFailed: the part was not found (3 times, last AGE ago)',
        '',
        'It waits for:',
        '└─ makes … Pod/broken-0  Waiting, the pod is not ready',
        '   └─ refers to ∅ Secret/password  Missing',
        '        next: create the Secret password in namespace team-a, or correct what names it',
      ],
    })
  })

  test('has the whole of it as JSON', async () => {
    const { out } = await stage.run(run, { ...options, output: 'json' }, 'widget/broken')
    expect(JSON.parse(out)).toMatchObject({
      object: { id: 'test.dev/Widget/team-a/broken', state: 'NotReady', events: [{ reason: 'PartFailed', count: 3 }] },
      verdict: 'NotReady',
      causes: [
        {
          steps: [
            { id: 'test.dev/Widget/team-a/broken' },
            { id: '/Pod/team-a/broken-0', relation: 'made-from' },
            { id: '/Secret/team-a/password', relation: 'refers-to', state: 'Missing' },
          ],
          events: [],
        },
      ],
      unreadable: [],
    })
  })

  test('says that an object waits for its finalizers while it is deleted', async () => {
    const key = { namespace: 'team-a', name: 'going' }
    await stage.client.create({ ...widget, metadata: { ...key, finalizers: ['test.dev/cleanup'] } })
    await stage.client.delete(widget, key)
    const { code, out } = await stage.run(run, options, 'widget/going')
    expect([code, out.replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')]).toEqual([
      3,
      `⊘ Widget/going in team-a is being deleted: since TIME; it waits for the finalizer test.dev/cleanup
  next: see whether the controller runs that removes it when it is done`,
    ])
  })

  test('names the right that a user lacks, and never calls ready what it cannot know', async () => {
    await stage.client.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace: 'team-a' },
    })
    const known = await stage.run(run, options, 'configmap/settings')
    expect([known.code, known.out.split('\n').at(-1)]).toEqual([0, 'Nothing is waited for.'])
    const { code, out } = await stage.run(run, options, 'configmap/settings', { user: 'ann' })
    expect(code).toBe(3)
    expect(out.split('\n').slice(0, 5)).toEqual([
      '· ConfigMap/settings in team-a exists; nothing of its kind says whether it is ready',
      '',
      'Nothing is waited for, as far as you can read.',
      '',
      'There may be more, which cannot be read:',
    ])
    expect(out).toMatch(
      /^- you have no right to list .*mapcontrollers\.metacontroller\.k8s\.io.* in the whole cluster$/m,
    )
    expect(out).not.toContain('team-b')
  })

  test('goes on where the server fails', async () => {
    const failing = (to: ConstructorParameters<typeof RecordingTransport>[0]): RecordingTransport => {
      const recording = new RecordingTransport(to)
      recording.instead = ({ path, method }) =>
        method === 'GET' && path.endsWith('/secrets/password')
          ? { status: 400, headers: {}, body: { kind: 'Status', message: 'the disk is full', code: 400 }, warnings: [] }
          : undefined
      return recording
    }
    const { code, out } = await stage.run(run, options, 'widget/broken', { recorded: failing })
    expect(code).toBe(3)
    expect(out.split('\n').slice(-2)).toEqual([
      '   └─ refers to ? Secret/password  Cannot be read',
      '        Failed: the disk is full',
    ])
  })

  test('refuses an object that does not exist with 1', async () => {
    await expect(stage.run(run, options, 'widget/none')).rejects.toMatchObject({
      message: 'There is no Widget none in namespace team-a',
      exitCode: 1,
    })
  })
})

test('the command ends with its exit code', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-why-'))
  try {
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, (await stage.server.listen()).kubeconfig)
    const at = ['-n', 'team-a', '--kubeconfig', file]
    const ended = [
      await fairlead(['why', 'widgets', 'well', ...at]),
      await fairlead(['why', 'widget.test.dev/broken', ...at]),
      await fairlead(['why', 'widget/none', ...at]),
    ]
    expect(ended.map(({ code }) => code)).toEqual([0, 3, 1])
    expect(ended[2]!.stderr).toBe('fairlead: There is no Widget none in namespace team-a\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
