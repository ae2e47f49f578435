// The kind Document as a CustomResourceDefinition that is never installed.
import type { KubeObject } from '@fairlead/kube'

export const group = 'documents.example.com'

export const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `documents.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: {
      plural: 'documents',
      singular: 'document',
      kind: 'Document',
      listKind: 'DocumentList',
      shortNames: ['doc'],
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Title', type: 'string', jsonPath: '.spec.title' },
          { name: 'Characters', type: 'integer', jsonPath: '.status.characters' },
        ],
        selectableFields: [{ jsonPath: '.spec.title' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A document that is kept in a file.',
            properties: {
              spec: {
                type: 'object',
                required: ['title'],
                properties: {
                  title: { type: 'string', minLength: 1, maxLength: 100, description: 'What it is called.' },
                  text: { type: 'string', default: '', description: 'What it says.' },
                },
              },
              status: {
                type: 'object',
                properties: { characters: { type: 'integer', description: 'How long the text is.' } },
              },
            },
          },
        },
      },
    ],
  },
}
