import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import type { RequestFacts } from '../src/engine/request.ts'
import { hookRequest } from '../src/engine/request.ts'
import { claim, configMaps, controller, parent, snapshot, snapshots } from './objects.ts'

const managedFields = [{ manager: 'kubectl', operation: 'Apply' as const }]
const managed = (object: KubeObject): KubeObject => ({ ...object, metadata: { ...object.metadata, managedFields } })

const facts: RequestFacts = {
  controller: controller(),
  parent: parent(),
  mapKey: 'key',
  input: managed(claim('a')),
  outputs: [
    { kind: snapshots('OnDelete'), objects: [managed(snapshot('s'))] },
    { kind: configMaps, objects: [] },
  ],
  version: 'v1',
  trim: 'managedFields',
}

describe('hookRequest', () => {
  test('contains controller, parent, map key, input and every declared output kind, without managedFields', () => {
    expect(hookRequest(facts)).toEqual({
      controller: controller(),
      parent: parent(),
      mapKey: 'key',
      input: claim('a'),
      outputs: { 'VolumeSnapshot.snapshot.example.com/v1': { s: snapshot('s') }, 'ConfigMap.v1': {} },
    })
  })

  test('contains no input for a tombstone hook', () => {
    expect(Object.keys(hookRequest({ ...facts, input: undefined }))).toEqual([
      'controller',
      'parent',
      'mapKey',
      'outputs',
    ])
  })

  test('contains managedFields for trim none, and no controller for trim controller', () => {
    expect(hookRequest({ ...facts, trim: 'none' }).input).toEqual(managed(claim('a')))
    expect(Object.keys(hookRequest({ ...facts, trim: 'controller' }))).toEqual(['parent', 'mapKey', 'input', 'outputs'])
  })

  test.each([
    ['v1 under a namespaced parent', 'v1', parent(), 's'],
    ['v2 under a namespaced parent', 'v2', parent(), 'app/s'],
    ['v1 under a cluster-scoped parent', 'v1', parent({ namespace: undefined }), 'app/s'],
  ] as const)('keys outputs as %s', (_title, version, owner, key) => {
    expect(
      Object.keys(
        (hookRequest({ ...facts, version, parent: owner }).outputs as Record<string, object>)[
          'VolumeSnapshot.snapshot.example.com/v1'
        ] ?? {},
      ),
    ).toEqual([key])
  })

  test('merges related objects of one kind that two rules select', () => {
    const rule = (name: string, namespace: string): { kind: typeof configMaps; objects: KubeObject[] } => ({
      kind: configMaps,
      objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } }],
    })
    const { related } = hookRequest({ ...facts, related: [rule('a', 'app'), rule('b', 'other')] })
    expect(Object.keys((related as Record<string, object>)['ConfigMap.v1'] ?? {})).toEqual(['a', 'other/b'])
  })
})
