// `fairlead supply …`: what a workload would stamp, whether templates and rules do what they should, how a chain does, and which rights it needs. What they do loads when one of them runs:
// `--help` answers at once.
import type { Command } from '@fairlead/controller'

/** All commands of the capability. */
export const commands: readonly Command[] = [
  {
    name: 'render',
    summary: 'Print what a workload would stamp',
    examples: [
      'fairlead supply render -f templates/ -f workload.yaml',
      'fairlead supply render -f . -f stamped-objects.yaml',
    ],
    options: [
      {
        flags: '-f, --filename <file>',
        description:
          'file or folder with owners, blueprints, templates, and stamped objects whose outputs are read; - is standard input',
        repeatable: true,
      },
    ],
    run: async (context) => (await import('./render.ts')).run(context),
  },
  {
    name: 'test',
    summary: 'Run tests of templates (cartotest) and of health rules (health_test.yaml)',
    examples: ['fairlead supply test tests/'],
    arguments: [{ name: 'folder', description: 'where the tests are' }],
    run: async (context) => (await import('./test.ts')).run(context),
  },
  {
    name: 'tree',
    summary: 'Show the chain of a workload: health, inputs, and why something waits',
    examples: ['fairlead supply tree workload/shop', 'fairlead supply tree deliverable/front -n team-a'],
    arguments: [{ name: 'owner', description: 'workload/NAME or deliverable/NAME' }],
    options: [
      {
        flags: '-n, --namespace <namespace>',
        description: 'where it is; the namespace of the kubeconfig when left out',
      },
    ],
    usesCluster: true,
    run: async (context) => (await import('./tree.ts')).run(context),
  },
  {
    name: 'rbac',
    summary: 'Print the ClusterRole that lets the controller watch what templates stamp',
    examples: ['fairlead supply rbac -f templates.yaml | kubectl apply -f -'],
    options: [
      {
        flags: '-f, --filename <file>',
        description: 'file or folder with templates; - is standard input',
        repeatable: true,
      },
      { flags: '--name <name>', description: 'name of the ClusterRole', default: 'fairlead:supply:stamped' },
    ],
    run: async (context) => (await import('./rbac.ts')).run(context),
  },
]
