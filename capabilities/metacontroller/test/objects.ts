// Objects that the tests of this package speak of.
import type { KubeObject } from '@fairlead/kube'
import type { MapController } from '@fairlead/metacontroller'
import { configurationOf } from '../src/engine/configuration.ts'
import { identityOf } from '../src/engine/identity.ts'
import { mapKeyOf } from '../src/engine/map-key.ts'
import type { InputKind, OutputKind } from '../src/engine/resource.ts'
import type { Tag } from '../src/engine/tag.ts'

export const claims: InputKind = {
  apiVersion: 'v1',
  group: '',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
  spec: { apiVersion: 'v1', resource: 'persistentvolumeclaims' },
}

export const namespaces: InputKind = {
  apiVersion: 'v1',
  group: '',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  spec: { apiVersion: 'v1', resource: 'namespaces' },
}

export function snapshots(method: OutputKind['method']): OutputKind {
  return {
    apiVersion: 'snapshot.example.com/v1',
    group: 'snapshot.example.com',
    kind: 'VolumeSnapshot',
    plural: 'volumesnapshots',
    namespaced: true,
    method,
  }
}

export const configMaps: OutputKind = {
  apiVersion: 'v1',
  group: '',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  method: 'InPlace',
}
export const clusterRoles: OutputKind = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  group: 'rbac.authorization.k8s.io',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
  method: 'InPlace',
}

export function parent(
  overrides: { namespace?: string | undefined; uid?: string; spec?: object; metadata?: object } = {},
): KubeObject {
  const namespace = 'namespace' in overrides ? overrides.namespace : 'app'
  return {
    apiVersion: 'schedule.example.com/v1',
    kind: 'SnapshotSchedule',
    metadata: {
      name: 'nightly',
      ...(namespace === undefined ? {} : { namespace }),
      uid: overrides.uid ?? 'parent-uid',
      generation: 1,
      ...overrides.metadata,
    },
    spec: overrides.spec ?? { selector: { matchLabels: { app: 'my-app' } } },
  }
}

export function claim(name: string, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: 'app',
      uid: `claim-${name}`,
      resourceVersion: '1',
      labels: { app: 'my-app' },
      ...metadata,
    },
    spec: { volumeName: name },
  }
}

export function snapshot(name: string, spec: object = {}, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'snapshot.example.com/v1',
    kind: 'VolumeSnapshot',
    metadata: { name, namespace: 'app', ...metadata },
    spec,
  }
}

export function controller(spec: object = {}): MapController {
  return {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'MapController',
    metadata: { name: 'schedules', uid: 'controller-uid', generation: 1 },
    spec: {
      parentResource: { apiVersion: 'schedule.example.com/v1', resource: 'snapshotschedules' },
      inputResources: [{ apiVersion: 'v1', resource: 'persistentvolumeclaims' }],
      outputResources: [{ apiVersion: 'snapshot.example.com/v1', resource: 'volumesnapshots' }],
      hooks: { map: { version: 'v1', trim: 'managedFields', webhook: { url: 'http://hook/map', timeout: '10s' } } },
      ...spec,
    },
  } as MapController
}

/** The tag of an output that the controller `schedules` made for this input and parent. */
export function tagFor(input: KubeObject, owner: KubeObject): Tag {
  const identity = identityOf(input)
  return { controller: 'schedules', parent: identityOf(owner), input: identity, mapKey: mapKeyOf(identity) }
}

/** An output as the controller applies it, with a uid. */
export function outputOf(
  input: KubeObject,
  owner: KubeObject,
  wanted: KubeObject,
  kind: OutputKind = snapshots('OnDelete'),
): KubeObject {
  const { object } = configurationOf(
    {
      identity: { ...identityOf(wanted), namespace: wanted.metadata.namespace ?? owner.metadata.namespace ?? '' },
      kind,
      object: wanted,
    },
    { tag: tagFor(input, owner), parent: owner, hops: 1, seen: 'seen' },
  )
  return { ...object, metadata: { ...object.metadata, uid: `uid-${wanted.metadata.name}`, resourceVersion: '1' } }
}
