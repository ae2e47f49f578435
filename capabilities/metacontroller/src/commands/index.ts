// `fairlead map ...`: the commands of map controllers. Each loads its implementation when it runs, so that `--help` is
// fast.
import type { Command } from '@fairlead/controller/command'
import { command } from '@fairlead/controller/command'

const resolve = {
  flags: '--resolve <name=host:port>',
  description: 'address of the host of a hook',
  repeatable: true,
} as const

/** All commands of the capability. */
export const commands: readonly Command[] = [
  command({
    name: 'render',
    summary: 'Print what controllers would create, change and delete for the objects of files, with reasons',
    examples: [
      'fairlead map render -f controller.yaml -f objects.yaml',
      'fairlead map render -f . --hook http://127.0.0.1:8080 -o yaml',
      'fairlead metacontroller render -f composite.yaml -f parents.yaml --hook http://127.0.0.1:8080',
    ],
    options: {
      filename: {
        flags: '-f, --filename <file>',
        description: 'file or folder with controllers and the objects that exist; - is standard input',
        repeatable: true,
      },
      hook: {
        flags: '--hook <url>',
        description: 'base address of the hooks in place of those in the files; /map, /sync and so on are appended',
      },
      resolve,
      output: {
        flags: '-o, --output <format>',
        description: 'text, yaml (the objects that would be applied) or json',
        choices: ['text', 'yaml', 'json'],
        default: 'text',
      },
    },
    run: async (context) => (await import('./render.ts')).run(context),
  }),
  command({
    name: 'test',
    summary: 'Run cases for the hooks of controllers',
    examples: ['fairlead map test cases/', 'fairlead map test cases/nightly.json --hook http://127.0.0.1:8080'],
    arguments: { path: { description: 'file or folder with cases (JSON)' } },
    options: {
      hook: {
        flags: '--hook <url>',
        description: 'base address of the hooks under test; /map, /sync and so on are appended',
      },
      resolve,
    },
    run: async (context) => (await import('./test.ts')).run(context),
  }),
  command({
    name: 'drift',
    summary: 'Print the outputs of map controllers that differ from what their hook wants and are left as they are',
    examples: ['fairlead map drift', 'fairlead map drift my-controller --resolve my-hook.my-namespace=127.0.0.1:8080'],
    arguments: {
      names: { description: 'MapControllers of the cluster; all when left out', optional: true, variadic: true },
    },
    options: { resolve },
    usesCluster: true,
    run: async (context) => (await import('./drift.ts')).run(context),
  }),
  command({
    name: 'sync',
    summary: 'Call the hooks of a controller again, for everything or for one parent',
    examples: ['fairlead map sync my-controller', 'fairlead metacontroller sync my-controller my-namespace/my-parent'],
    arguments: {
      name: { description: 'MapController, CompositeController or DecoratorController' },
      parent: { description: 'namespace/name of one parent; everything when left out', optional: true },
    },
    usesCluster: true,
    run: async (context) => (await import('./sync.ts')).run(context),
  }),
  command({
    name: 'rbac',
    summary: 'Print the ClusterRole that a controller needs',
    examples: ['fairlead map rbac -f controller.yaml', 'fairlead map rbac my-controller | kubectl apply -f -'],
    arguments: {
      names: {
        description: 'MapControllers, CompositeControllers and DecoratorControllers of the cluster',
        optional: true,
        variadic: true,
      },
    },
    options: {
      filename: {
        flags: '-f, --filename <file>',
        description: 'file or folder with controllers; - is standard input',
        repeatable: true,
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./rbac.ts')).run(context),
  }),
]
