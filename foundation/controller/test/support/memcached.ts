// A kind for tests: Memcached, with status subresource and conditions as a map list.
import { kind } from '@fairlead/client'
import type { CustomResourceDefinition, Kind } from '@fairlead/client'
import type { Condition, KubeObject } from '@fairlead/kube'

export interface Memcached extends KubeObject {
  readonly spec: { readonly size: number; readonly source?: string }
  readonly status?: {
    readonly ready?: number
    readonly observedGeneration?: number
    readonly conditions?: readonly Condition[]
  }
}

export const Memcached: Kind<Memcached> = kind<Memcached>('cache.example.com/v1alpha1', 'Memcached')

export function memcached(name: string, spec: Memcached['spec'], metadata: KubeObject['metadata'] = {}): Memcached {
  return { apiVersion: Memcached.apiVersion, kind: Memcached.kind, metadata: { name, ...metadata }, spec }
}

const status = {
  type: 'object',
  properties: {
    ready: { type: 'integer' },
    observedGeneration: { type: 'integer' },
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: {
        type: 'object',
        required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
        properties: {
          type: { type: 'string' },
          status: { type: 'string' },
          reason: { type: 'string' },
          message: { type: 'string' },
          observedGeneration: { type: 'integer' },
          lastTransitionTime: { type: 'string', format: 'date-time' },
        },
      },
    },
  },
}

export const memcachedDefinition: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'memcacheds.cache.example.com' },
  spec: {
    group: 'cache.example.com',
    scope: 'Namespaced',
    names: {
      kind: 'Memcached',
      listKind: 'MemcachedList',
      plural: 'memcacheds',
      singular: 'memcached',
    } as CustomResourceDefinition['spec']['names'],
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer' }, source: { type: 'string' } } },
              status,
            },
          },
        },
      } as CustomResourceDefinition['spec']['versions'][number],
    ],
  },
}
