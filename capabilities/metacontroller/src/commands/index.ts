// `fairlead metacontroller ...`, or `fairlead map ...`: the commands of the three kinds of controllers. Each loads its
// implementation when it runs, so that `--help` is fast.
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
      'fairlead metacontroller render -f controller.yaml -f objects.yaml --hook http://127.0.0.1:8080',
      'fairlead metacontroller render -f . --resolve my-hook.my-namespace=127.0.0.1:8080 -o yaml',
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
    summary: 'Call hooks for the cases of files and compare what follows from their responses',
    examples: [
      'fairlead metacontroller test cases/',
      'fairlead metacontroller test cases/fleets.json --hook http://127.0.0.1:8080',
    ],
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
    name: 'record',
    summary: "Pass the calls of a controller's hooks on, and write them as cases for the command test",
    examples: [
      'fairlead metacontroller record fleets cases/fleets.json --to http://127.0.0.1:8080',
      'fairlead metacontroller record fleets cases/fleets.json --to http://127.0.0.1:8080 --port 8081 --count 10',
    ],
    arguments: {
      name: { description: 'MapController, CompositeController or DecoratorController of the cluster' },
      file: { description: 'file for the cases; it is replaced' },
    },
    options: {
      to: { flags: '--to <url>', description: 'base address of the hooks, which the calls are passed on to' },
      port: { flags: '--port <number>', description: 'port of 127.0.0.1 that the calls come to', default: '0' },
      count: { flags: '--count <number>', description: 'number of cases after which it ends', default: '100' },
    },
    usesCluster: true,
    run: async (context) => (await import('./record.ts')).run(context),
  }),
  command({
    name: 'drift',
    summary:
      'Print the outputs of map controllers that differ from what their hook wants and that OnDelete leaves as they are',
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
    examples: [
      'fairlead metacontroller sync my-controller',
      'fairlead metacontroller sync my-controller my-namespace/my-parent',
    ],
    arguments: {
      name: { description: 'MapController, CompositeController or DecoratorController' },
      parent: { description: 'namespace/name of one parent; everything when left out', optional: true },
    },
    usesCluster: true,
    run: async (context) => (await import('./sync.ts')).run(context),
  }),
  command({
    name: 'rbac',
    summary:
      'Print the ClusterRole with the rights to the parents and children of a controller, or Roles for namespaces',
    examples: [
      'fairlead metacontroller rbac -f controller.yaml',
      'fairlead metacontroller rbac my-controller | kubectl apply -f -',
      'fairlead metacontroller rbac -f controller.yaml --namespace team-a --namespace team-b',
    ],
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
      namespace: {
        flags: '--namespace <namespace>',
        description: 'print a Role and a RoleBinding for this namespace; those of spec.namespaces when left out',
        repeatable: true,
      },
      serviceAccount: {
        flags: '--service-account <namespace/name>',
        description: 'the account that the RoleBindings grant the Roles to',
        default: 'fairlead-system/fairlead-metacontroller',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./rbac.ts')).run(context),
  }),
]
