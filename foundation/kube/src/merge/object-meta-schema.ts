// The schema of `metadata` for custom resources, whose own schemas leave it out. Facts: ObjectMeta of meta/v1 (shared schemas.json).
import type { SchemaNode } from '../schema/schema-node.ts'

const text: SchemaNode = { type: 'string' }
const flag: SchemaNode = { type: 'boolean' }
const number: SchemaNode = { type: 'integer', format: 'int64' }
const time: SchemaNode = { type: 'string', format: 'date-time' }
const texts: SchemaNode = { type: 'object', additionalProperties: text }

/** ObjectMeta as far as merging asks: labels and annotations merge by name, finalizers are a set, owners a map by uid. */
export const objectMetaSchema: SchemaNode = {
  type: 'object',
  properties: {
    annotations: texts,
    creationTimestamp: time,
    deletionGracePeriodSeconds: number,
    deletionTimestamp: time,
    finalizers: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    generateName: text,
    generation: number,
    labels: texts,
    managedFields: { type: 'array', 'x-kubernetes-list-type': 'atomic' },
    name: text,
    namespace: text,
    ownerReferences: {
      type: 'array',
      items: {
        type: 'object',
        properties: { apiVersion: text, blockOwnerDeletion: flag, controller: flag, kind: text, name: text, uid: text },
        'x-kubernetes-map-type': 'atomic',
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
    },
    resourceVersion: text,
    selfLink: text,
    uid: text,
  },
}
