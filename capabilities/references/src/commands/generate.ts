// `fairlead generate …`: the commands of the generator.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

const options = {
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
    description: 'folder for the CRDs, TypeScript, the references manifest, RBAC, the graph and the docs page',
    default: 'generated',
  },
  resource: {
    flags: '--resource <name>',
    description: 'a resource of the API to generate; all when left out',
    repeatable: true,
  },
  referents: {
    flags: '--referents <file>',
    description: 'file or folder with the CRDs of other services: value paths into them are checked',
    repeatable: true,
  },
  refNaming: {
    flags: '--ref-naming <naming>',
    description:
      'names of reference fields: seed (endpointConfigNameRef) or ack (endpointConfigRef); that of generator.yaml, else seed',
    choices: ['seed', 'ack'],
  },
  bothSet: {
    flags: '--both-set <reaction>',
    description: 'reaction to a reference beside its plain field; that of generator.yaml, else prefer_external',
    choices: ['prefer_external', 'reject'],
  },
} as const

/** All commands of the generator. */
export const generatorCommands: readonly Command[] = [
  command({
    name: 'crds',
    summary: 'Generate CRDs with references, and a controller, from the API model of an AWS service',
    examples: [
      'fairlead generate crds --service sagemaker --config generator.yaml --model sagemaker.json --out generated',
      'fairlead generate crds --service iam --config generator.yaml --model iam.json --out . --ref-naming ack --resource Role',
    ],
    options,
    run: async (context) => (await import('./generate-crds.ts')).run(context),
  }),
  command({
    name: 'check',
    summary: 'Fail when generated files are out of date, or a CRD breaks what was valid before',
    examples: [
      'fairlead generate check --service sagemaker --config generator.yaml --model sagemaker.json --out generated --base origin/main',
    ],
    options: {
      ...options,
      base: {
        flags: '--base <revision>',
        description: 'git revision whose CRDs must stay valid; HEAD when left out',
      },
    },
    run: async (context) => (await import('./generate-check.ts')).run(context),
  }),
]
