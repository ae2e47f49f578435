// `fairlead supply …`. Each command loads its implementation when it runs, so that `--help` stays fast.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

/** All commands of the capability. */
export const commands: readonly Command[] = [
  command({
    name: 'render',
    summary: 'Print the objects that a workload stamps',
    examples: [
      'fairlead supply render -f templates/ -f workload.yaml',
      'fairlead supply render -f . -f stamped-objects.yaml',
    ],
    options: {
      filename: {
        flags: '-f, --filename <file>',
        description:
          'file or folder with owners, blueprints, templates, and stamped objects whose outputs are read; - is standard input',
        repeatable: true,
      },
    },
    run: async (context) => (await import('./render.ts')).run(context),
  }),
  command({
    name: 'test',
    summary: 'Run tests of templates (cartotest) and of health rules (health_test.yaml)',
    examples: ['fairlead supply test tests/'],
    arguments: { folder: { description: 'folder of the tests' } },
    run: async (context) => (await import('./test.ts')).run(context),
  }),
  command({
    name: 'tree',
    summary: 'Show the resources of a workload: health, inputs, and the reason for waiting',
    examples: ['fairlead supply tree workload/shop', 'fairlead supply tree deliverable/front -n team-a'],
    arguments: { owner: { description: 'workload/NAME or deliverable/NAME' } },
    options: {
      namespace: {
        flags: '-n, --namespace <namespace>',
        description: 'namespace of the owner; the namespace of the kubeconfig when left out',
      },
      output: {
        flags: '-o, --output <format>',
        description: 'output format; json and yaml print the owner with its status',
        choices: ['text', 'json', 'yaml'],
        default: 'text',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./tree.ts')).run(context),
  }),
  command({
    name: 'rbac',
    summary: 'Print the ClusterRole that lets the controller watch stamped objects',
    examples: [
      'fairlead supply rbac -f templates.yaml | kubectl apply -f -',
      'fairlead supply rbac -f templates.yaml --service-account team-a/builder',
    ],
    options: {
      filename: {
        flags: '-f, --filename <file>',
        description: 'file or folder with templates; - is standard input',
        repeatable: true,
      },
      serviceAccount: {
        flags: '--service-account <namespace/name>',
        description: 'also print the Role with which this account writes stamped objects, and its RoleBinding',
      },
      name: { flags: '--name <name>', description: 'name of the ClusterRole', default: 'fairlead:supply:stamped' },
    },
    run: async (context) => (await import('./rbac.ts')).run(context),
  }),
]
