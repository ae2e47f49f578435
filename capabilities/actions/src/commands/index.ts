// `fairlead actions …`: menus, runs, and the provenance of actions. Each command loads its implementation when it runs,
// so that `--help` stays fast.
import { command } from '@fairlead/controller/command'
import type { Command, CompletionContext } from '@fairlead/controller/command'

/** Option of all commands about a resource in a cluster. */
const namespace = {
  flags: '-n, --namespace <namespace>',
  description: 'namespace of the resource; the namespace of the kubeconfig when left out',
} as const

/** All commands of the capability. */
export const commands: readonly Command[] = [
  command({
    name: 'list',
    summary: 'List the actions of a resource',
    examples: ['fairlead actions list deployment/trader -n stocktrader', 'fairlead actions list pod/web-1 -o json'],
    arguments: { resource: { description: 'TYPE/NAME' } },
    options: {
      namespace,
      all: {
        flags: '-a, --all',
        description: 'include actions that are not offered for this resource or that you may not run, with the reason',
      },
      output: {
        flags: '-o, --output <format>',
        description: 'output format',
        choices: ['table', 'json', 'yaml'],
        default: 'table',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./list.ts')).run(context),
  }),
  command({
    name: 'run',
    summary: 'Run an action of a resource',
    examples: [
      'fairlead actions run deployment/trader restart -n stocktrader',
      'fairlead actions run deployment/trader trace -i spec="*=all" --wait',
      'fairlead actions run deployment/trader restart --dry-run',
      'fairlead actions run deployment/trader home',
    ],
    arguments: {
      resource: { description: 'TYPE/NAME' },
      action: {
        description: 'name of the action',
        candidates: async (context: CompletionContext) => (await import('./list.ts')).actionNames(context),
      },
    },
    options: {
      namespace,
      input: { flags: '-i, --input <field=value>', description: 'value of an input field', repeatable: true },
      dryRun: { flags: '--dry-run', description: 'print what would run, and create no Job' },
      wait: { flags: '-w, --wait', description: 'wait until the Jobs have finished, and print their logs' },
      timeout: { flags: '--timeout <seconds>', description: 'maximum time to wait', default: '600' },
      output: {
        flags: '-o, --output <format>',
        description: 'output format',
        choices: ['text', 'json', 'yaml'],
        default: 'text',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./run.ts')).run(context),
  }),
  command({
    name: 'why',
    summary: 'Explain where the actions of a resource come from',
    examples: [
      'fairlead actions why deployment/trader -n stocktrader',
      'fairlead actions why -f trader.yaml --kam appsody.yaml --kam default.yaml',
      'fairlead actions why -f trader.yaml --kam kams.yaml --maps maps/',
    ],
    arguments: { resource: { description: 'TYPE/NAME in a cluster', optional: true } },
    options: {
      namespace,
      filename: {
        flags: '-f, --filename <file>',
        description: 'file with the resource, to work without a cluster; - is standard input',
        repeatable: true,
      },
      kam: {
        flags: '--kam <file>',
        description: 'file or folder with KindActionMappings; the default mapping when left out',
        repeatable: true,
      },
      maps: { flags: '--maps <file>', description: 'file or folder with action maps', repeatable: true },
      output: {
        flags: '-o, --output <format>',
        description: 'output format',
        choices: ['text', 'json', 'yaml'],
        default: 'text',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./why.ts')).run(context),
  }),
  command({
    name: 'history',
    summary: 'List runs of command actions, newest first',
    examples: ['fairlead actions history', 'fairlead actions history deployment/trader -n stocktrader'],
    arguments: { resource: { description: 'TYPE/NAME', optional: true } },
    options: {
      namespace,
      action: { flags: '--action <name>', description: 'only runs of this action' },
      user: { flags: '--user <name>', description: 'only runs of this user' },
      limit: { flags: '--limit <count>', description: 'number of runs to print; 0 for all', default: '50' },
      output: {
        flags: '-o, --output <format>',
        description: 'output format',
        choices: ['table', 'json', 'yaml'],
        default: 'table',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./history.ts')).run(context),
  }),
  command({
    name: 'logs',
    summary: 'Print the logs of a run',
    examples: ['fairlead actions logs kappnav/kappnav-7d3c…', 'fairlead actions logs kappnav-7d3c… -n kappnav'],
    arguments: { job: { description: 'the Job, as printed by history' } },
    options: {
      namespace: { flags: namespace.flags, description: 'namespace of the Job; kappnav when left out' },
    },
    usesCluster: true,
    run: async (context) => (await import('./logs.ts')).run(context),
  }),
  command({
    name: 'lint',
    summary: 'Check mappings and action maps in files',
    examples: ['fairlead actions lint maps/', 'fairlead actions lint kam.yaml map.yaml'],
    arguments: { files: { description: 'files or folders; - is standard input', variadic: true } },
    run: async (context) => (await import('./lint.ts')).run(context),
  }),
  command({
    name: 'rbac',
    summary: 'Print the roles that let users see and run actions',
    examples: ['fairlead actions rbac | kubectl apply -f -'],
    run: async (context) => (await import('./rbac.ts')).run(context),
  }),
]
