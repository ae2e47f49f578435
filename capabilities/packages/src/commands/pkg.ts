// `fairlead pkg …`: packages in folders of this machine. Each command loads its implementation when it runs.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'
import { functionCommands } from './function-commands.ts'

const folder = { description: 'folder of the package; the current one when left out', optional: true } as const
const dryRun = { flags: '--dry-run', description: 'print the changes as a patch and write nothing' } as const
const strategies = ['resource-merge', 'fast-forward', 'force-delete-replace', 'copy-merge'] as const

/** The commands for packages. */
export const pkgCommands: readonly Command[] = [
  command({
    name: 'get',
    summary: 'Fetch a package from a git repository',
    examples: [
      'fairlead pkg get https://example.org/blueprints.git/web@v1',
      'fairlead pkg get https://github.com/org/blueprints/web@v1 ./shop --for-deployment',
    ],
    arguments: {
      address: { description: 'REPO_URI[.git]/PKG_PATH[@VERSION]; without a version the branch main, else master' },
      destination: {
        description: 'folder to create; a folder in the current one, named after the package, when left out',
        optional: true,
      },
    },
    options: {
      strategy: {
        flags: '--strategy <strategy>',
        description: 'update strategy of the package',
        choices: strategies,
        default: 'resource-merge',
      },
      forDeployment: { flags: '--for-deployment', description: 'add a package context with the name of the package' },
      dryRun,
    },
    run: async (context) => (await import('./pkg-get.ts')).run(context),
  }),
  command({
    name: 'update',
    summary: 'Merge the changes of upstream into a package',
    examples: [
      'fairlead pkg update web@v2',
      'fairlead pkg update web --on-conflict local',
      'fairlead pkg update web@v2 --dry-run',
    ],
    arguments: {
      package: {
        description: '[PKG_PATH][@VERSION]; the current folder and its upstream ref when left out',
        optional: true,
      },
    },
    options: {
      strategy: {
        flags: '--strategy <strategy>',
        description: 'update strategy; becomes that of the package',
        choices: strategies,
      },
      onConflict: {
        flags: '--on-conflict <side>',
        description: 'side that decides what both changed; fail changes nothing',
        choices: ['upstream', 'local', 'fail'],
        default: 'upstream',
      },
      dryRun,
    },
    run: async (context) => (await import('./pkg-update.ts')).run(context),
  }),
  command({
    name: 'diff',
    summary: 'Show the differences between a package and its upstream',
    examples: ['fairlead pkg diff web', 'fairlead pkg diff web@v2 --diff-type combined'],
    arguments: {
      package: {
        description: '[PKG_PATH][@VERSION]; the current folder and its upstream ref when left out',
        optional: true,
      },
    },
    options: {
      diffType: {
        flags: '--diff-type <type>',
        description:
          'local: what the package changed; remote: what upstream changed; combined: package against the new upstream; 3way: both',
        choices: ['local', 'remote', 'combined', '3way'],
        default: 'local',
      },
    },
    run: async (context) => (await import('./pkg-diff.ts')).run(context),
  }),
  command({
    name: 'init',
    summary: 'Make a package of a folder: Kptfile, README.md and package context',
    examples: ['fairlead pkg init web --description "The web shop"'],
    arguments: { folder },
    options: {
      description: {
        flags: '--description <text>',
        description: 'short description of the package',
        default: 'sample description',
      },
      keywords: { flags: '--keywords <words>', description: 'keywords, separated by commas' },
      site: { flags: '--site <url>', description: 'page with information about the package' },
      dryRun,
    },
    run: async (context) => (await import('./pkg-init.ts')).run(context),
  }),
  command({
    name: 'cat',
    summary: 'Print the resources of a package',
    examples: ['fairlead pkg cat web', 'fairlead pkg cat web --annotate'],
    arguments: { folder },
    options: {
      annotate: { flags: '--annotate', description: 'print in front of each resource the file that it is in' },
    },
    run: async (context) => (await import('./pkg-cat.ts')).run(context),
  }),
  command({
    name: 'tree',
    summary: 'Show packages, files and resources as a tree',
    examples: ['fairlead pkg tree web'],
    arguments: { folder },
    run: async (context) => (await import('./pkg-tree.ts')).run(context),
  }),
  ...functionCommands,
]
