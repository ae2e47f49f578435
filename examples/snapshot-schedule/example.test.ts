import { fileURLToPath } from 'node:url'
import type { KubeObject } from '@fairlead/kube'
import { controllerOf } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Stage, manifest, manifests } from '../stage.ts'
import { start } from './hook.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const snapshots = { apiVersion: 'volumesnapshot.external-storage.k8s.io/v1', kind: 'VolumeSnapshot' }
const schedules = { apiVersion: 'snapshot.k8s.io/v1', kind: 'SnapshotSchedule' }
const claims = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' }

let stage: Stage
let hook: Awaited<ReturnType<typeof start>>
let now: () => number = () => 0

beforeEach(async () => {
  hook = await start({ now: () => now() })
  stage = await Stage.set({
    example: folder,
    resolve: { 'snapshotschedule-controller.metacontroller': `127.0.0.1:${hook.port}` },
  })
  now = () => stage.clock.now()
  await stage.apply(...manifests(folder))
  await stage.pass(5)
})

afterEach(async () => {
  await stage[Symbol.asyncDispose]()
  await hook.close()
})

async function snapshotsOf(schedule: string, claim = ''): Promise<readonly KubeObject[]> {
  const { items } = await stage.client.list(snapshots, { namespace: 'default' })
  return items.filter(({ metadata, spec }) => {
    const { persistentVolumeClaimName } = spec as { persistentVolumeClaimName: string }
    return metadata.name?.startsWith(`${schedule}-`) && (claim === '' || persistentVolumeClaimName === claim)
  })
}

async function countsOf(schedule: string): Promise<unknown> {
  const { status } = (await stage.client.get(schedules, `default/${schedule}`)) as KubeObject & {
    status?: { inputs: unknown; outputs: unknown }
  }
  return { inputs: status?.inputs, outputs: status?.outputs }
}

const counts = (inputs: number, total: number, ready: number): unknown => ({
  inputs: { persistentvolumeclaims: { total: inputs } },
  outputs: { volumesnapshots: { total, ready } },
})

describe('the snapshot-schedule example', () => {
  test('takes snapshots on schedule, counts those that are ready, and lets them go when their time to live ends', async () => {
    expect(await countsOf('my-app-snapshots')).toEqual(counts(10, 10, 10))
    expect(await countsOf('my-app-quick')).toEqual(counts(10, 10, 10))
    await stage.pass(15.5)
    expect(await countsOf('my-app-quick')).toMatchObject({ outputs: { volumesnapshots: { total: 20 } } })
    await stage.pass(4)
    expect(await countsOf('my-app-quick')).toEqual(counts(10, 20, 20))
    await stage.pass(100)
    const alive = await snapshotsOf('my-app-quick', 'data-my-app-0')
    expect(alive.length).toBe(5)
    const oldest = Math.min(...alive.map(({ spec }) => Date.parse((spec as { takenAt: string }).takenAt)))
    expect(stage.clock.now() - oldest).toBeLessThanOrEqual(95_000)
    expect(await countsOf('my-app-snapshots')).toEqual(counts(10, 10, 10))
  })

  test('takes a snapshot of a claim that is added', async () => {
    const [first] = manifest(`${folder}/manifests/5-claims.yaml`)
    await stage.apply({ ...first!, metadata: { ...first!.metadata, name: 'data-my-app-10' } })
    expect((await snapshotsOf('my-app-snapshots', 'data-my-app-10')).length).toBe(1)
  })

  test('keeps the snapshots of a claim that is deleted until their time to live ends', async () => {
    await stage.client.delete(claims, 'default/data-my-app-3')
    await stage.pass(30)
    expect((await snapshotsOf('my-app-quick', 'data-my-app-3')).length).toBe(1)
    expect(await countsOf('my-app-snapshots')).toEqual(counts(9, 10, 10))
    await stage.pass(65)
    expect(await snapshotsOf('my-app-quick', 'data-my-app-3')).toEqual([])
    expect((await snapshotsOf('my-app-snapshots', 'data-my-app-3')).length).toBe(1)
  })

  test('deletes the snapshots of a schedule that is deleted', async () => {
    await stage.client.delete(schedules, 'default/my-app-snapshots', { propagation: 'Background' })
    await stage.pass(2)
    expect(await snapshotsOf('my-app-snapshots')).toEqual([])
    expect((await snapshotsOf('my-app-quick')).length).toBe(10)
  })

  test('keeps the snapshots of a schedule that is deleted with --cascade=orphan, and takes them back by their tags', async () => {
    await stage.client.delete(schedules, 'default/my-app-snapshots', { propagation: 'Orphan' })
    await stage.pass(10)
    const orphans = await snapshotsOf('my-app-snapshots')
    expect(orphans.length).toBe(10)
    expect(orphans.map(controllerOf)).toEqual(orphans.map(() => undefined))
    const [again] = manifest(`${folder}/manifests/4-schedules.yaml`)
    await stage.apply(again!)
    await stage.pass(3)
    const { metadata } = await stage.client.get(schedules, 'default/my-app-snapshots')
    const adopted = await snapshotsOf('my-app-snapshots')
    expect(adopted.map((object) => object.metadata.uid).toSorted()).toEqual(
      orphans.map((object) => object.metadata.uid).toSorted(),
    )
    expect(adopted.map((object) => controllerOf(object)?.uid)).toEqual(adopted.map(() => metadata.uid))
    expect(await countsOf('my-app-snapshots')).toEqual(counts(10, 10, 10))
  })

  test('says of the controller that it serves every group', async () => {
    await stage.pass(2)
    const { status } = await stage.client.get(
      { apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController' },
      'snapshotschedule-controller',
    )
    expect(status).toMatchObject({
      parents: 2,
      groups: 20,
      failingGroups: 0,
      conditions: [
        { type: 'Accepted', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
    })
  })
})
