// The three-way merge of children; rows follow Metacontroller's own table (pkg/dynamic/apply).
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { goJson, lastAppliedAnnotation, mergeApplied, updatedChild, withLastApplied } from '../src/children/merge.ts'

describe('mergeApplied', () => {
  test.each<[string, JsonObject, JsonObject | undefined, JsonObject, JsonObject]>([
    ['scalars', { keep: 1, drop: 2, old: 3 }, { drop: 2, old: 3 }, { old: 4, added: 5 }, { keep: 1, old: 4, added: 5 }],
    ['no last applied', { keep: 1, old: 3 }, undefined, { old: 4 }, { keep: 1, old: 4 }],
    [
      'nested maps',
      { a: { keep: 1, drop: 2 }, b: { x: 1 } },
      { a: { drop: 2 }, b: { x: 1 } },
      { a: { added: 3 } },
      { a: { keep: 1, added: 3 } },
    ],
    ['lists of scalars', { a: [1, 2] }, { a: [1] }, { a: [3] }, { a: [3] }],
    [
      'lists of objects by name',
      { c: [{ name: 'keep', v: 1 }, { name: 'drop' }, { name: 'change', v: 1, server: true }] },
      { c: [{ name: 'drop' }, { name: 'change', v: 1 }] },
      { c: [{ name: 'new' }, { name: 'change', v: 2 }] },
      { c: [{ name: 'keep', v: 1 }, { name: 'change', v: 2, server: true }, { name: 'new' }] },
    ],
    [
      'lists of ports by containerPort before name',
      { p: [{ containerPort: 80, name: 'a' }] },
      undefined,
      { p: [{ containerPort: 80, name: 'b' }] },
      { p: [{ containerPort: 80, name: 'b' }] },
    ],
    [
      'lists of objects without a common key',
      { l: [{ other: 1 }] },
      undefined,
      { l: [{ name: 'a' }] },
      { l: [{ name: 'a' }] },
    ],
    ['null in place of a map', { a: { keep: 1, drop: 2 } }, { a: { drop: 2 } }, { a: null }, { a: { keep: 1 } }],
    ['another type', { a: { b: 1 } }, undefined, { a: [1] }, { a: [1] }],
  ])('merges %s', (_title, observed, lastApplied, desired, merged) => {
    expect(mergeApplied(observed, lastApplied, desired)).toEqual(merged)
  })
})

describe('updatedChild', () => {
  const desired = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } } as KubeObject
  const observed = {
    ...withLastApplied(desired),
    metadata: { ...withLastApplied(desired).metadata, uid: 'u', resourceVersion: '1', generation: 1 },
    status: { phase: 'Ready' },
  } as unknown as KubeObject

  test('returns the observed child when nothing changes', () => {
    expect(updatedChild(observed, desired)).toBe(observed)
  })

  test('changes neither status nor fields that only the server sets', () => {
    const tampering = {
      ...desired,
      metadata: { ...desired.metadata, uid: 'other', resourceVersion: '7', creationTimestamp: null },
      status: { phase: 'Broken' },
    } as unknown as KubeObject
    const { metadata, status } = updatedChild(observed, tampering)
    expect([metadata.uid, metadata.resourceVersion, metadata.creationTimestamp, status]).toEqual([
      'u',
      '1',
      undefined,
      { phase: 'Ready' },
    ])
  })

  test('removes fields that the last response had', () => {
    const { data, metadata } = updatedChild(observed, { ...desired, data: { other: 'w' } } as KubeObject)
    expect(data).toEqual({ other: 'w' })
    expect(metadata.annotations?.[lastAppliedAnnotation]).toContain('"other":"w"')
  })

  test('throws for a last applied configuration that is no object', () => {
    const broken = { ...observed, metadata: { ...observed.metadata, annotations: { [lastAppliedAnnotation]: '[' } } }
    expect(() => updatedChild(broken as KubeObject, desired)).toThrow('is no JSON object; remove it')
  })
})

test('goJson writes JSON as Go does', () => {
  expect(goJson({ b: [{ d: 1, c: 9007199254740993n }], a: '<&>\u2028' } as unknown as JsonObject)).toBe(
    '{"a":"\\u003c\\u0026\\u003e\\u2028","b":[{"c":9007199254740993,"d":1}]}',
  )
})
