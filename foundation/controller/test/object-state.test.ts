// The states of objects, and the edges of pods: through the graph of one object.
import { ObjectLookup, podRelations } from '@fairlead/controller'
import type { ObjectReader, Relation } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'

const thing = (fields: object): KubeObject => ({
  apiVersion: 'test.dev/v1',
  kind: 'Thing',
  metadata: { name: 'a', namespace: 'team', generation: 2 },
  ...fields,
})
const condition = (type: string, status: string, reason = 'Why', message = 'a sentence') => ({
  type,
  status,
  reason,
  message,
})
const none: ObjectReader = {
  get: async () => ({ found: 'no' }),
  list: async () => ({ objects: [] }),
  listMetadata: async () => ({ objects: [] }),
  served: async () => [],
  preferred: async () => undefined,
}

function stateOf(object: KubeObject, reports = false): string {
  const lookup = new ObjectLookup({ sources: [], read: none, reports: () => reports })
  const { state, reason, message } = lookup.nodeOf(object)
  return [state, reason, message].filter((part) => part !== '').join(' | ')
}

describe('the state of an object', () => {
  test.each<[string, KubeObject, string]>([
    ['Ready', thing({ status: { conditions: [condition('Ready', 'True')] } }), 'Ready | Why | a sentence'],
    ['not Ready', thing({ status: { conditions: [condition('Ready', 'False')] } }), 'NotReady | Why | a sentence'],
    ['Ready Unknown', thing({ status: { conditions: [condition('Ready', 'Unknown')] } }), 'Waiting | Why | a sentence'],
    [
      'Stalled',
      thing({ status: { conditions: [condition('Ready', 'True'), condition('Stalled', 'True', 'Stuck')] } }),
      'NotReady | Stuck | a sentence',
    ],
    [
      'Reconciling',
      thing({ status: { conditions: [condition('Reconciling', 'True', 'Working'), condition('Ready', 'False')] } }),
      'Waiting | Working | a sentence',
    ],
    [
      'of an earlier generation',
      thing({ status: { observedGeneration: 1, conditions: [condition('Ready', 'True')] } }),
      'Waiting | Stale | the status is about generation 1, the object is at generation 2',
    ],
    ['Available', thing({ status: { conditions: [condition('Available', 'False')] } }), 'NotReady | Why | a sentence'],
    [
      'terminal in the words of ACK',
      thing({ status: { conditions: [condition('ACK.ResourceSynced', 'True'), condition('ACK.Terminal', 'True')] } }),
      'NotReady | Why | a sentence',
    ],
    ['without conditions', thing({}), 'Exists'],
    ['with conditions that say nothing', thing({ status: { conditions: [condition('Special', 'False')] } }), 'Exists'],
    [
      'a ReplicaSet with too few pods',
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: {},
        spec: { replicas: 2 },
        status: { availableReplicas: 1 },
      },
      'Waiting | 1 of 2 are available',
    ],
    [
      'a Deployment that made no progress',
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: {},
        spec: {},
        status: { conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded')] },
      },
      'NotReady | ProgressDeadlineExceeded | a sentence',
    ],
    [
      'being deleted',
      thing({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test.dev/a', 'test.dev/b'] } }),
      'Terminating | Terminating | since 2026-01-01T00:00:00Z; it waits for the finalizers test.dev/a, test.dev/b',
    ],
    [
      'being deleted, with the reason why it is still there',
      thing({
        metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
        status: { conditions: [condition('Ready', 'False', 'DeletionBlocked', 'a Role refers to it')] },
      }),
      'Terminating | Terminating | since 2026-01-01T00:00:00Z; a Role refers to it',
    ],
    [
      'a namespace that still has something',
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
        status: {
          phase: 'Terminating',
          conditions: [
            condition(
              'NamespaceContentRemaining',
              'True',
              'SomeResourcesRemain',
              'Some resources are remaining: pods. has 1 resource instances',
            ),
            condition('NamespaceDeletionContentFailure', 'False', 'ContentDeleted', 'All content successfully deleted'),
          ],
        },
      },
      'Terminating | Terminating | since 2026-01-01T00:00:00Z; Some resources are remaining: pods. has 1 resource instances',
    ],
  ])('is read from its fields: %s', (_title, object, expected) => {
    expect(stateOf(object)).toBe(expected)
  })

  test('of a kind whose controller sets conditions is that of the controller', () => {
    expect(stateOf(thing({}), true)).toBe('Waiting | NotReported | no controller has reported on it yet')
  })
})

describe('relations of pods', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'team' },
    spec: {
      serviceAccountName: 'web',
      volumes: [
        { name: 'a', configMap: { name: 'files' } },
        { name: 'b', secret: { secretName: 'tls' } },
        { name: 'c', secret: { secretName: 'maybe', optional: true } },
        { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'e', projected: { sources: [{ configMap: { name: 'projected' } }, { serviceAccountToken: {} }] } },
      ],
      initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'tls' } }] }],
      containers: [
        {
          name: 'c',
          env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'x' } } }, { name: 'Y' }],
        },
      ],
    },
  } as KubeObject
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'team' },
    spec: { volumeName: 'pv-1', storageClassName: 'fast' },
  } as KubeObject
  const read: ObjectReader = { ...none, list: async () => ({ objects: [pod] }) } as ObjectReader
  const format = ({ from, to }: Relation): string => `${from.kind}/${from.name} ${to.kind}/${to.name}`

  test('lead to everything without which it does not start', async () => {
    expect((await podRelations.relations(pod, read)).map(format)).toEqual([
      'Pod/web ConfigMap/files',
      'Pod/web ConfigMap/projected',
      'Pod/web ConfigMap/settings',
      'Pod/web Secret/tls',
      'Pod/web PersistentVolumeClaim/data',
      'Pod/web ServiceAccount/web',
    ])
  })

  test('lead to a claim from its pods, and from it to its volume and class', async () => {
    expect((await podRelations.relations(claim, read)).map(format)).toEqual([
      'PersistentVolumeClaim/data PersistentVolume/pv-1',
      'PersistentVolumeClaim/data StorageClass/fast',
      'Pod/web PersistentVolumeClaim/data',
    ])
  })

  test('are none for other objects', async () => {
    expect(await podRelations.relations(thing({}), read)).toEqual([])
  })
})
