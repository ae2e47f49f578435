// `fairlead refs …`. Each command loads its implementation when it runs, so that `--help` stays fast.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'

export { generatorCommands } from './generate.ts'

const filename = {
  flags: '-f, --filename <file>',
  description: 'file or folder with ReferenceRules, targets, sources and ReferenceGrants; - is standard input',
  repeatable: true,
} as const

/** Options of {@link commandsWith}. */
export interface CommandsOptions {
  /** Returns the CustomResourceDefinitions of kinds with references of their own that files need not define. */
  readonly definitions: () => Promise<readonly KubeObject[]>
}

/** Returns all commands of the capability. */
export const commandsWith = ({ definitions }: CommandsOptions): readonly Command[] => [
  command({
    name: 'plan',
    summary: 'Print the values that ReferenceRules would set, and why some cannot be',
    examples: [
      'fairlead refs plan -f rules.yaml -f objects/',
      'kubectl get apps,databases -o yaml | fairlead refs plan -f rules.yaml -f -',
    ],
    options: {
      filename,
      output: {
        flags: '-o, --output <format>',
        description: 'text, yaml (the fields that would be applied) or json',
        choices: ['text', 'yaml', 'json'],
        default: 'text',
      },
    },
    run: async (context) => (await import('./plan.ts')).run(context),
  }),
  command({
    name: 'tree',
    summary: 'Show which object refers to which, and the state of each reference',
    examples: [
      'fairlead refs tree -f .',
      'fairlead refs tree -f . -o mermaid',
      'kubectl get endpoints.sagemaker.services.k8s.aws,endpointconfigs -o yaml | fairlead refs tree -f -',
    ],
    options: {
      filename,
      output: {
        flags: '-o, --output <format>',
        description: 'text, mermaid, dot or json',
        choices: ['text', 'mermaid', 'dot', 'json'],
        default: 'text',
      },
    },
    run: async (context) => (await import('./tree.ts')).run(context, await definitions()),
  }),
  command({
    name: 'rbac',
    summary: 'Print the rights that ReferenceRules need',
    examples: [
      'fairlead refs rbac -f rules.yaml | kubectl apply -f -',
      'fairlead refs rbac -f rules.yaml --namespace team-a',
    ],
    options: {
      filename,
      namespace: {
        flags: '-n, --namespace <namespace>',
        description: 'also print the Role and RoleBinding of the service account in this namespace',
      },
    },
    run: async (context) => (await import('./rbac.ts')).run(context),
  }),
]

/** All commands of the capability, for files that define their kinds. */
export const commands: readonly Command[] = commandsWith({ definitions: async () => [] })
