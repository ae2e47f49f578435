import type { KubeObject } from '@fairlead/kube'
import { parseJson } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import type { OutputKind } from '../src/engine/resource.ts'
import type { ResponseBody, ResponseContext } from '../src/engine/response.ts'
import { ResponseError, readMapResponse, readTombstoneResponse } from '../src/engine/response.ts'
import { clusterRoles, configMaps, parent, snapshot, snapshots } from './objects.ts'

const kinds: OutputKind[] = [snapshots('OnDelete'), configMaps]
const context: ResponseContext = { parent: parent(), kinds, strict: false }
const clusterWide: ResponseContext = {
  parent: parent({ namespace: undefined }),
  kinds: [...kinds, clusterRoles],
  strict: false,
}

const body = (value: unknown): ResponseBody => bodyOf(JSON.stringify(value))
function bodyOf(text: string): ResponseBody {
  const duplicates: string[] = []
  return { value: parseJson(text, { onDuplicate: (path) => void duplicates.push(path) }), duplicates }
}

function refusalOf(run: () => unknown): { code: string; message: string } | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof ResponseError) return { code: error.code, message: error.message }
    throw error
  }
  return undefined
}

const configMap = (metadata: object): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata })

describe('readMapResponse', () => {
  test('returns outputs with their identity, in the namespace of the parent', () => {
    const answer = readMapResponse(
      body({
        outputs: [snapshot('a', {}, { namespace: undefined }), configMap({ name: 'c', namespace: 'app' })],
        resyncAfterSeconds: 1.5,
      }),
      context,
    )
    expect(answer.resyncAfterSeconds).toBe(1.5)
    expect(answer.outputs.map(({ identity }) => identity)).toEqual([
      { group: 'snapshot.example.com', kind: 'VolumeSnapshot', namespace: 'app', name: 'a' },
      { group: '', kind: 'ConfigMap', namespace: 'app', name: 'c' },
    ])
  })

  test('reads a resyncAfterSeconds of zero or null as not set', () => {
    expect(readMapResponse(body({ outputs: [], resyncAfterSeconds: 0 }), context)).toEqual({
      outputs: [],
      resyncAfterSeconds: undefined,
      events: [],
    })
    expect(readMapResponse(body({ outputs: [], resyncAfterSeconds: null }), context)).toEqual({
      outputs: [],
      resyncAfterSeconds: undefined,
      events: [],
    })
  })

  test.each<[string, unknown, string, string]>([
    ['no outputs', {}, 'MissingOutputs', 'without the field outputs'],
    ['outputs null', { outputs: null }, 'MissingOutputs', 'without the field outputs'],
    ['a list', [], 'InvalidResponse', 'must respond with a JSON object'],
    ['null', null, 'InvalidResponse', 'must respond with a JSON object'],
    ['outputs that are no list', { outputs: {} }, 'InvalidResponse', 'must be a list'],
    [
      'a wrong resyncAfterSeconds',
      { outputs: [], resyncAfterSeconds: 'soon' },
      'InvalidResponse',
      'resyncAfterSeconds',
    ],
    ['a negative resyncAfterSeconds', { outputs: [], resyncAfterSeconds: -1 }, 'InvalidResponse', 'resyncAfterSeconds'],
    ['an output that is no object', { outputs: ['a'] }, 'InvalidOutput', 'outputs[0]'],
    [
      'no apiVersion',
      { outputs: [{ kind: 'ConfigMap', metadata: { name: 'a' } }] },
      'InvalidOutput',
      'needs apiVersion',
    ],
    ['no kind', { outputs: [{ apiVersion: 'v1', metadata: { name: 'a' } }] }, 'InvalidOutput', 'needs kind'],
    ['no metadata', { outputs: [{ apiVersion: 'v1', kind: 'ConfigMap' }] }, 'InvalidOutput', 'needs metadata'],
    ['generateName', { outputs: [configMap({ generateName: 'a-' })] }, 'InvalidOutput', 'needs metadata.name'],
    [
      'labels that are no texts',
      { outputs: [configMap({ name: 'a', labels: { n: 1 } })] },
      'InvalidOutput',
      'metadata.labels',
    ],
    [
      'an undeclared kind',
      { outputs: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }] },
      'UndeclaredKind',
      'outputResources',
    ],
    [
      'another version',
      { outputs: [{ ...snapshot('a'), apiVersion: 'snapshot.example.com/v1beta1' }] },
      'OtherVersion',
      'lists snapshot.example.com/v1;',
    ],
    [
      'one output twice',
      { outputs: [configMap({ name: 'a' }), snapshot('a'), configMap({ name: 'a', namespace: 'app' })] },
      'DuplicateOutput',
      'outputs[0] and outputs[2]',
    ],
    [
      'another namespace',
      { outputs: [configMap({ name: 'a', namespace: 'other' })] },
      'OutOfScope',
      'cannot own across namespaces',
    ],
  ])('refuses %s', (_title, value, code, message) => {
    expect(refusalOf(() => readMapResponse(body(value), context))).toEqual({
      code,
      message: expect.stringContaining(message),
    })
  })

  test('accepts cluster-scoped outputs and other namespaces only for a cluster-scoped parent', () => {
    const role: object = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'a' } }
    expect(
      readMapResponse(body({ outputs: [role, configMap({ name: 'a', namespace: 'any' })] }), clusterWide).outputs.map(
        ({ identity }) => identity.namespace,
      ),
    ).toEqual(['', 'any'])
    expect(
      refusalOf(() => readMapResponse(body({ outputs: [configMap({ name: 'a' })] }), clusterWide))?.message,
    ).toContain('needs metadata.namespace')
    const namespaced: ResponseContext = { ...context, kinds: [clusterRoles] }
    expect(refusalOf(() => readMapResponse(body({ outputs: [role] }), namespaced))?.message).toContain('cluster-scoped')
  })

  test('ignores unknown and duplicate fields when loose, refuses them when strict', () => {
    const unknown = bodyOf('{"outputs": [], "status": {}}')
    const duplicate = bodyOf('{"outputs": [], "outputs": []}')
    expect(readMapResponse(unknown, context).outputs).toEqual([])
    expect(readMapResponse(duplicate, context).outputs).toEqual([])
    const strict = { ...context, strict: true }
    expect(refusalOf(() => readMapResponse(unknown, strict))).toEqual({
      code: 'UnknownField',
      message: expect.stringContaining('status'),
    })
    expect(refusalOf(() => readMapResponse(duplicate, strict))).toEqual({
      code: 'UnknownField',
      message: expect.stringContaining('outputs twice'),
    })
  })
})

describe('readTombstoneResponse', () => {
  test('matches outputs to keep by group, kind, namespace and name alone', () => {
    const other: KubeObject = { ...snapshot('b'), apiVersion: 'snapshot.example.com/v9', spec: { changed: true } }
    const answer = readTombstoneResponse(
      body({ outputs: [snapshot('a', {}, { namespace: undefined }), other], resyncAfterSeconds: 3 }),
      context,
    )
    expect(answer).toEqual({
      keep: new Set(['VolumeSnapshot.snapshot.example.com/app/a', 'VolumeSnapshot.snapshot.example.com/app/b']),
      resyncAfterSeconds: 3,
      events: [],
    })
  })

  test('refuses a missing list instead of deleting all outputs', () => {
    for (const value of [{}, { outputs: null }, { children: [] }])
      expect(refusalOf(() => readTombstoneResponse(body(value), context))?.code).toBe('MissingOutputs')
  })

  test('ignores kinds that are not declared as outputs', () => {
    expect(
      readTombstoneResponse(body({ outputs: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }] }), context)
        .keep,
    ).toEqual(new Set())
  })
})
