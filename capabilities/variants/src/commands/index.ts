// `fairlead variant …`. Each command loads its implementation when it runs, so that `--help` stays fast.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

const filename = {
  flags: '-f, --filename <file>',
  description: 'file or folder with manifests; - is standard input',
  repeatable: true,
} as const

/** All commands of the capability. */
export const commands: readonly Command[] = [
  command({
    name: 'plan',
    summary: 'Show the drafts that PackageVariants would make or change, before anything is written',
    examples: ['fairlead variant plan -f variant.yaml', 'fairlead variant plan -f variants/ -n team-a'],
    options: {
      filename,
      namespace: {
        flags: '-n, --namespace <namespace>',
        description: 'namespace of variants that name none; the namespace of the kubeconfig when left out',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./plan.ts')).run(context),
  }),
  command({
    name: 'tree',
    summary: 'Show the variants of a set: revisions, drafts, conflicts and failures',
    examples: ['fairlead variant tree fleet', 'fairlead variant tree fleet -n team-a'],
    arguments: { set: { description: 'name of a PackageVariantSet' } },
    options: {
      namespace: {
        flags: '-n, --namespace <namespace>',
        description: 'namespace of the set; the namespace of the kubeconfig when left out',
      },
      output: { flags: '-o, --output <format>', description: 'text, yaml or json', choices: ['text', 'yaml', 'json'] },
    },
    usesCluster: true,
    run: async (context) => (await import('./tree.ts')).run(context),
  }),
  command({
    name: 'convert',
    summary: 'Print the v1alpha2 form of PackageVariantSets of v1alpha1',
    examples: ['fairlead variant convert -f set.yaml | kubectl apply -f -'],
    options: { filename },
    run: async (context) => (await import('./convert.ts')).run(context),
  }),
  command({
    name: 'rbac',
    summary: 'Print the ClusterRole for the kinds that sets select and that variants inject',
    examples: ['fairlead variant rbac -f sets.yaml | kubectl apply -f -'],
    options: {
      filename,
      name: { flags: '--name <name>', description: 'name of the ClusterRole', default: 'fairlead-variants-kinds' },
    },
    run: async (context) => (await import('./rbac.ts')).run(context),
  }),
]
