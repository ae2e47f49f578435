// Runs the cases of this package as `npm run cases` does, and checks that a case with another wanted result fails.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type { Case } from '../../../test/conformance/cases/case-file.ts'
import { runFile } from '../../../test/conformance/cases/run.ts'

const path = fileURLToPath(new URL('cases/mapcontroller.json', import.meta.url))
const file = JSON.parse(readFileSync(path, 'utf8')) as { readonly cases: readonly Case[] }
const folder = mkdtempSync(join(tmpdir(), 'fairlead-cases-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns the paths at which a case disagrees after a change of its input or want. */
async function disagreementsOf(
  id: string,
  change: { readonly input?: object; readonly want?: object; readonly [key: string]: unknown },
  name = 'mapcontroller.json',
): Promise<string[]> {
  const entry = file.cases.find((one) => one.id === id)!
  const { input, want, ...more } = change
  const changed = { ...entry, ...more, input: { ...entry.input, ...input }, want: { ...entry.want, ...want } }
  const target = join(mkdtempSync(join(folder, 'case-')), name)
  writeFileSync(target, JSON.stringify({ ...file, cases: [changed] }))
  return (await runFile(target)).flatMap((result) => result.disagreements.map(({ at }) => at))
}

describe('cases of map controllers', () => {
  test.each(file.cases.map(({ id, title }) => [id, title ?? '']))('%s: %s', async (id) => {
    const results = await runFile(path, { id })
    const { disagreements } = results.find((result) => result.name === `mapcontroller.json:${id}`)!
    expect(disagreements).toEqual([])
  })
})

const a = 'PersistentVolumeClaim/app/a'
const create = { op: 'create', ref: 'VolumeSnapshot/app/y' }

describe('the case runner', () => {
  test.each<[string, string, Parameters<typeof disagreementsOf>[1], string[]]>([
    ['an unwanted map call', 'added-input-is-one-call', { want: { mapCalled: [] } }, ['mapCalled']],
    ['a missing map call', 'no-selector-maps-all', { want: { mapCalls: 3 } }, ['mapCalls']],
    [
      'an unwanted tombstone call',
      'failing-tombstone-keeps-all',
      { want: { tombstoneCalled: [] } },
      ['tombstoneCalled'],
    ],
    ['an unwanted write', 'added-input-is-one-call', { want: { writes: [create] } }, ['writes']],
    [
      'a missing write',
      'name-of-another-owner',
      { want: { writes: [create, { op: 'delete', ref: 'VolumeSnapshot/app/x' }] } },
      ['writes[1]'],
    ],
    [
      'a write with another verb',
      'name-of-another-owner',
      { want: { writes: [{ ...create, op: 'update' }] } },
      ['writes[0]'],
    ],
    [
      'another tag',
      'cluster-scoped-output',
      { want: { writes: [{ op: 'create', ref: 'ClusterRole/reader-a', taggedFor: 'PersistentVolumeClaim/app/b' }] } },
      ['writes[0]'],
    ],
    [
      'another owner',
      'cluster-scoped-output',
      { want: { writes: [{ op: 'create', ref: 'ClusterRole/reader-a', controllerRef: null }] } },
      ['writes[0]'],
    ],
    [
      'another precondition',
      'recreate-waits-for-finalizers',
      { want: { writes: [{ op: 'delete', ref: 'VolumeSnapshot/app/x', preconditionUid: 'u-y' }] } },
      ['writes[0]'],
    ],
    [
      'another propagation policy',
      'recreate-waits-for-finalizers',
      { want: { writes: [{ op: 'delete', ref: 'VolumeSnapshot/app/x', propagationPolicy: 'Orphan' }] } },
      ['writes[0]'],
    ],
    [
      'another result',
      'in-place-takes-back',
      { want: { writes: [{ op: 'update', ref: 'VolumeSnapshot/app/x', resultSpec: { class: 'fast' } }] } },
      ['writes[0]'],
    ],
    ['a changed object', 'in-place-takes-back', { want: { unchanged: ['VolumeSnapshot/app/x'] } }, ['unchanged']],
    [
      'another count',
      'conditions-are-counted',
      { want: { status: { outputs: { volumesnapshots: { ready: 2 } } } } },
      ['status.outputs.volumesnapshots.ready'],
    ],
    [
      'a missing event',
      'conditions-are-counted',
      { want: { events: [{ on: 'parent', type: 'Warning' }] } },
      ['events'],
    ],
    ['an unwanted warning', 'duplicate-refuses-the-answer', { want: { events: [] } }, ['events']],
    [
      'another retry',
      'busy-tombstone-waits',
      { want: { requeue: { kind: 'after', seconds: 31, scope: a } } },
      ['requeue'],
    ],
    [
      'other keys of a request',
      'cluster-scoped-parent',
      { want: { mapFirstRequest: { [a]: { outputs: { 'VolumeSnapshot.snapshot.example.com/v1': ['s'] } } } } },
      [`mapFirstRequest.${a}.outputs`],
    ],
    [
      'a field that a request has',
      'cluster-scoped-parent',
      { want: { mapFirstRequest: { [a]: { absent: ['input'] } } } },
      [`mapFirstRequest.${a}.absent`],
    ],
    ['an unknown key of want', 'no-selector-maps-all', { want: { reads: 1 } }, ['want.reads']],
    ['an unknown key of input', 'no-selector-maps-all', { input: { nodes: [] } }, ['input.nodes']],
    ['an unknown key of a write', 'no-selector-maps-all', { want: { writes: [{ ...create, by: 'me' }] } }, ['case']],
    ['an unknown trigger', 'no-selector-maps-all', { input: { trigger: { type: 'eclipse' } } }, ['case']],
    ['an unknown area', 'no-selector-maps-all', { area: 'reduce' }, ['area']],
    ['an unknown key of a case', 'no-selector-maps-all', { wants: {} }, ['case']],
  ])('finds %s', async (_title, id, change, expected) => {
    expect(await disagreementsOf(id, change)).toEqual(expected)
  })

  test('fails for a file whose area has no runner', async () => {
    expect(await disagreementsOf('no-selector-maps-all', {}, 'unknown.json')).toEqual(['file'])
  })

  test('counts a manual case neither as passed nor as failed', async () => {
    const target = join(folder, 'mapcontroller.json')
    writeFileSync(target, JSON.stringify({ ...file, cases: [{ ...file.cases[0], manual: true }] }))
    expect((await runFile(target)).map(({ outcome }) => outcome)).toEqual(['manual'])
  })
})
