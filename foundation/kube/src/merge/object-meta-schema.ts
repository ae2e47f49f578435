// The schema of `metadata` for custom resources, whose own schemas leave it out. Facts: ObjectMeta of meta/v1 (shared
// schemas.json).
import type { SchemaNode } from '../schema/schema-node.ts'

const string: SchemaNode = { type: 'string' }
const flag: SchemaNode = { type: 'boolean' }
const number: SchemaNode = { type: 'integer', format: 'int64' }
const time: SchemaNode = { type: 'string', format: 'date-time' }
const strings: SchemaNode = { type: 'object', additionalProperties: string }

/**
 * ObjectMeta as far as merging needs it: labels and annotations merge by key, finalizers are a set, owner references a
 * map by uid.
 */
export const objectMetaSchema: SchemaNode = {
  type: 'object',
  properties: {
    annotations: strings,
    creationTimestamp: time,
    deletionGracePeriodSeconds: number,
    deletionTimestamp: time,
    finalizers: { type: 'array', items: string, 'x-kubernetes-list-type': 'set' },
    generateName: string,
    generation: number,
    labels: strings,
    managedFields: { type: 'array', 'x-kubernetes-list-type': 'atomic' },
    name: string,
    namespace: string,
    ownerReferences: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          apiVersion: string,
          blockOwnerDeletion: flag,
          controller: flag,
          kind: string,
          name: string,
          uid: string,
        },
        'x-kubernetes-map-type': 'atomic',
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
    },
    resourceVersion: string,
    selfLink: string,
    uid: string,
  },
}
