// `fairlead repo …`, with the flags of porchctl.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

const namespace = {
  flags: '-n, --namespace <namespace>',
  description: 'namespace of the repository; the namespace of the kubeconfig when left out',
} as const

/** The commands. */
export const repoCommands: readonly Command[] = [
  command({
    name: 'register',
    summary: 'Register a git repository; without an address, one that the server keeps itself',
    examples: [
      'fairlead repo register https://github.com/org/packages.git --name=blueprints',
      'fairlead repo register --name=blueprints',
    ],
    arguments: { address: { description: 'address of the git repository', optional: true } },
    options: {
      namespace,
      name: {
        flags: '--name <name>',
        description: 'name of the repository; the last part of the address when left out',
      },
      branch: { flags: '--branch <branch>', description: 'branch of published packages', default: 'main' },
      createBranch: { flags: '--create-branch', description: 'create the branch if it does not exist' },
      directory: { flags: '--directory <folder>', description: 'folder of the packages', default: '/' },
      deployment: { flags: '--deployment [value]', description: 'the packages are ready to deploy' },
      description: { flags: '--description <text>', description: 'description of the repository' },
      repoBasicUsername: { flags: '--repo-basic-username <name>', description: 'user name for the repository' },
      repoBasicPassword: { flags: '--repo-basic-password <password>', description: 'password for the repository' },
      syncSchedule: { flags: '--sync-schedule <cron>', description: 'cron schedule to read the repository' },
    },
    usesCluster: true,
    run: async (context) => (await import('./register.ts')).run(context),
  }),
  command({
    name: 'get',
    summary: 'List repositories',
    examples: ['fairlead repo get --namespace=default'],
    arguments: { repositories: { description: 'names of repositories', optional: true, variadic: true } },
    options: {
      namespace,
      allNamespaces: { flags: '-A, --all-namespaces', description: 'list those of all namespaces' },
      noHeaders: { flags: '--no-headers', description: 'print no header of the table' },
      output: { flags: '-o, --output <format>', description: 'json, yaml, name, wide, jsonpath=… or custom-columns=…' },
    },
    usesCluster: true,
    run: async (context) => (await import('./get.ts')).run(context),
  }),
  command({
    name: 'sync',
    summary: 'Read repositories again',
    examples: ['fairlead repo sync blueprints', 'fairlead repo sync --all --run-once=10m'],
    arguments: { repositories: { description: 'names of repositories', optional: true, variadic: true } },
    options: {
      namespace,
      all: { flags: '--all', description: 'all repositories of the namespace' },
      allNamespaces: { flags: '-A, --all-namespaces', description: 'with --all, those of all namespaces' },
      runOnce: {
        flags: '--run-once <time>',
        description: 'a duration such as 10m, or an RFC 3339 time; at once when left out',
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./sync.ts')).run(context),
  }),
  command({
    name: 'unregister',
    summary: 'Remove a repository from the server; a remote one is left as it is',
    examples: ['fairlead repo unregister blueprints'],
    arguments: { repository: { description: 'name of the repository' } },
    options: {
      namespace,
      keepAuthSecret: { flags: '--keep-auth-secret', description: 'keep the Secret with its credentials' },
    },
    usesCluster: true,
    run: async (context) => (await import('./unregister.ts')).run(context),
  }),
]
