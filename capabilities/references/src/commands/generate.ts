// `fairlead generate …`: the commands of the generator.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

/** All commands of the generator. */
export const generatorCommands: readonly Command[] = [
  command({
    name: 'crds',
    summary: 'Generate CRDs with references from the API model of an AWS service',
    examples: [
      'fairlead generate crds --service sagemaker --config generator.yaml --model sagemaker.json --out generated',
      'fairlead generate crds --service iam --config generator.yaml --model iam.json --out . --ref-naming ack --resource Role',
    ],
    options: {
      service: {
        flags: '--service <name>',
        description: 'package name of the service, the first part of the API group',
      },
      config: {
        flags: '--config <file>',
        description: 'generator.yaml: resources, references, renames, ignored fields',
      },
      model: { flags: '--model <file>', description: 'the API model, a Smithy JSON AST as AWS publishes it' },
      out: {
        flags: '--out <folder>',
        description: 'folder for the CRDs, the references manifest, RBAC and the graph',
        default: 'generated',
      },
      resource: {
        flags: '--resource <name>',
        description: 'a resource of the API to generate; all when left out',
        repeatable: true,
      },
      refNaming: {
        flags: '--ref-naming <naming>',
        description: 'names of reference fields: seed (endpointConfigNameRef) or ack (endpointConfigRef)',
        choices: ['seed', 'ack'],
        default: 'seed',
      },
      bothSet: {
        flags: '--both-set <reaction>',
        description: 'reaction to a reference beside its plain field',
        choices: ['prefer_external', 'reject'],
        default: 'prefer_external',
      },
    },
    run: async (context) => (await import('./generate-crds.ts')).run(context),
  }),
]
