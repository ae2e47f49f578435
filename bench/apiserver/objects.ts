// The objects that the benchmarks create.

const group = 'bench.example.com'

/** The collection of the custom resource. */
export const things = `/apis/${group}/v1/namespaces/default/things`
export const configMaps = '/api/v1/namespaces/default/configmaps'

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const thingDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer' }, color: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
}

export const thing = (name: string, size = 1): object => ({
  apiVersion: `${group}/v1`,
  kind: 'Thing',
  metadata: { name },
  spec: { size, color: 'blue' },
})

/** 3,300 of them make a list of 4.5 MB. */
export const configMap = (name: string, text = 'x'.repeat(920)): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: 'bench' } },
  data: { text },
})
