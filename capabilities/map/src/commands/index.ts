// `fairlead map …`: what map controllers would do, whether a hook does what it should, and which rights they need. What they do loads when one of them runs:
// `--help` answers at once.
import type { Command } from '@fairlead/controller'

/** All commands of the capability. */
export const commands: readonly Command[] = [
  {
    name: 'render',
    summary: 'Print what map controllers would create, change and delete, and why',
    examples: [
      'fairlead map render -f controller.yaml -f objects.yaml',
      'fairlead map render -f . --hook http://127.0.0.1:8080 -o yaml',
    ],
    options: [
      {
        flags: '-f, --filename <file>',
        description: 'file or folder with MapControllers, parents, inputs, outputs; - is standard input',
        repeatable: true,
      },
      {
        flags: '--hook <url>',
        description: 'address of the hooks instead of those in the files; /map and /tombstone are put behind it',
      },
      { flags: '--resolve <name=host:port>', description: 'where a host of a hook is', repeatable: true },
      {
        flags: '-o, --output <format>',
        description: 'text, yaml (the objects that would be applied) or json',
        default: 'text',
      },
    ],
    run: async (context) => (await import('./render.ts')).run(context),
  },
  {
    name: 'test',
    summary: 'Play cases for the hooks of map controllers',
    examples: ['fairlead map test cases/', 'fairlead map test cases/nightly.json --hook http://127.0.0.1:8080'],
    arguments: [{ name: 'path', description: 'file or folder with cases (JSON)' }],
    options: [
      { flags: '--hook <url>', description: 'address of the hooks under test; /map and /tombstone are put behind it' },
      { flags: '--resolve <name=host:port>', description: 'where a host of a hook is', repeatable: true },
    ],
    run: async (context) => (await import('./test.ts')).run(context),
  },
  {
    name: 'rbac',
    summary: 'Print the ClusterRole that a MapController needs',
    examples: ['fairlead map rbac -f controller.yaml', 'fairlead map rbac my-controller | kubectl apply -f -'],
    arguments: [{ name: 'names', description: 'MapControllers of the cluster', optional: true, variadic: true }],
    options: [
      {
        flags: '-f, --filename <file>',
        description: 'file or folder with MapControllers; - is standard input',
        repeatable: true,
      },
    ],
    usesCluster: true,
    run: async (context) => (await import('./rbac.ts')).run(context),
  },
]
