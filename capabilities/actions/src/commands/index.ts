// `fairlead actions …`: menus, runs, and why a menu is as it is. What they do loads when one of them runs:
// `--help` answers at once.
import type { Command } from '@fairlead/controller'

/** Option of all commands that speak of a resource of a cluster. */
const namespaceOption = {
  flags: '-n, --namespace <namespace>',
  description: 'namespace of the resource; that of the kubeconfig when left out',
}

/** All commands of the capability. */
export const commands: readonly Command[] = [
  {
    name: 'list',
    summary: 'List the actions of a resource',
    examples: ['fairlead actions list deployment/trader -n stocktrader', 'fairlead actions list pod/web-1 -o json'],
    arguments: [{ name: 'resource', description: 'TYPE/NAME' }],
    options: [
      namespaceOption,
      {
        flags: '-a, --all',
        description: 'also actions that do not fit this resource or that you may not use, with the reason',
      },
      { flags: '-o, --output <format>', description: 'table, json or yaml', default: 'table' },
    ],
    usesCluster: true,
    run: async (context) => (await import('./list.ts')).run(context),
  },
  {
    name: 'run',
    summary: 'Run an action of a resource',
    examples: [
      'fairlead actions run deployment/trader restart -n stocktrader',
      'fairlead actions run deployment/trader trace -i spec="*=all" --wait',
      'fairlead actions run deployment/trader home',
    ],
    arguments: [
      { name: 'resource', description: 'TYPE/NAME' },
      { name: 'action', description: 'name of the action' },
    ],
    options: [
      namespaceOption,
      { flags: '-i, --input <field=value>', description: 'what to put in', repeatable: true },
      { flags: '-w, --wait', description: 'wait until the Jobs have ended, and print what they printed' },
      { flags: '--timeout <seconds>', description: 'how long to wait', default: '600' },
    ],
    usesCluster: true,
    run: async (context) => (await import('./run.ts')).run(context),
  },
  {
    name: 'why',
    summary: 'Tell where the actions of a resource come from',
    examples: [
      'fairlead actions why deployment/trader -n stocktrader',
      'fairlead actions why -f trader.yaml --kam appsody.yaml --kam default.yaml',
      'fairlead actions why -f trader.yaml --kam kams.yaml --maps maps/',
    ],
    arguments: [{ name: 'resource', description: 'TYPE/NAME of a cluster', optional: true }],
    options: [
      namespaceOption,
      {
        flags: '-f, --filename <file>',
        description: 'file with the resource, for a look without a cluster; - is standard input',
        repeatable: true,
      },
      {
        flags: '--kam <file>',
        description: 'file or folder with KindActionMappings; the default mapping when none is given',
        repeatable: true,
      },
      { flags: '--maps <file>', description: 'file or folder with action maps', repeatable: true },
      { flags: '-o, --output <format>', description: 'text or json', default: 'text' },
    ],
    usesCluster: true,
    run: async (context) => (await import('./why.ts')).run(context),
  },
  {
    name: 'history',
    summary: 'List runs of command actions, newest first',
    examples: ['fairlead actions history', 'fairlead actions history Deployment/trader -n stocktrader'],
    arguments: [{ name: 'resource', description: 'KIND/NAME', optional: true }],
    options: [
      namespaceOption,
      { flags: '--action <name>', description: 'only runs of this action' },
      { flags: '--user <name>', description: 'only runs of this user' },
      { flags: '-o, --output <format>', description: 'table or json', default: 'table' },
    ],
    usesCluster: true,
    run: async (context) => (await import('./history.ts')).run(context),
  },
  {
    name: 'logs',
    summary: 'Print what a run printed',
    examples: ['fairlead actions logs kappnav/kappnav-7d3c…', 'fairlead actions logs kappnav-7d3c… -n kappnav'],
    arguments: [{ name: 'job', description: 'the Job, as history shows it' }],
    options: [namespaceOption],
    usesCluster: true,
    run: async (context) => (await import('./logs.ts')).run(context),
  },
  {
    name: 'lint',
    summary: 'Check mappings and action maps in files',
    examples: ['fairlead actions lint maps/', 'fairlead actions lint kam.yaml map.yaml'],
    arguments: [{ name: 'files', description: 'files or folders; - is standard input', variadic: true }],
    run: async (context) => (await import('./lint.ts')).run(context),
  },
  {
    name: 'rbac',
    summary: 'Print the roles that let people see and run actions',
    examples: ['fairlead actions rbac | kubectl apply -f -'],
    run: async (context) => (await import('./rbac.ts')).run(context),
  },
]
