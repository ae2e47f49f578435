// `fairlead pkg render` and `pkg eval`. Each loads its implementation when it runs.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

const shared = {
  output: {
    flags: '-o, --output <place>',
    description:
      'stdout (a ResourceList), unwrap (its resources), or a folder that does not exist; in place when left out',
  },
  resultsDir: { flags: '--results-dir <folder>', description: 'folder for the results of functions (results.yaml)' },
  imagePrefix: {
    flags: '--image-prefix <prefix>',
    description: 'registry and repository of images that name none',
  },
  imagePullPolicy: {
    flags: '--image-pull-policy <policy>',
    description: 'when images of functions that are not built in are pulled',
    choices: ['Always', 'IfNotPresent', 'Never'],
    default: 'IfNotPresent',
  },
} as const

const matchers = (verb: string, sentence: string): Record<string, { flags: string; description: string }> =>
  Object.fromEntries(
    ['ApiVersion', 'Kind', 'Name', 'Namespace'].map((field) => {
      const flag = field.replaceAll(/(?<=[a-z])[A-Z]/g, '-$&').toLowerCase()
      return [`${verb}${field}`, { flags: `--${verb}-${flag} <${flag}>`, description: `${sentence} ${flag}` }]
    }),
  )

/** Commands that run functions. */
export const functionCommands: readonly Command[] = [
  command({
    name: 'render',
    summary: 'Run the functions of a package and of the packages below it',
    examples: [
      'fairlead pkg render',
      'fairlead pkg render web -o unwrap',
      'fairlead pkg render web --results-dir results',
    ],
    arguments: { folder: { description: 'folder of the package; the current one when left out', optional: true } },
    options: {
      ...shared,
      allowExec: { flags: '--allow-exec', description: 'let functions with exec run programs of this machine' },
    },
    run: async (context) => (await import('./pkg-render.ts')).run(context),
  }),
  command({
    name: 'eval',
    summary: 'Run one function on a folder of resources',
    examples: [
      'fairlead pkg eval web --image set-labels -- tier=backend',
      'fairlead pkg eval web --image upsert-resource --fn-config service.yaml',
    ],
    arguments: {
      folder: { description: 'folder of resources; - is a ResourceList on standard input', optional: true },
      data: { description: 'KEY=VALUE of the function config, behind --', optional: true, variadic: true },
    },
    options: {
      ...shared,
      image: { flags: '-i, --image <image>', description: 'image of the function' },
      exec: { flags: '--exec <command>', description: 'program that is the function' },
      fnConfig: { flags: '--fn-config <file>', description: 'file with the function config' },
      ...(matchers('match', 'only resources with this') as Record<
        'matchApiVersion' | 'matchKind' | 'matchName' | 'matchNamespace',
        { flags: `--match-${string} <${string}>`; description: string }
      >),
      ...(matchers('exclude', 'no resources with this') as Record<
        'excludeApiVersion' | 'excludeKind' | 'excludeName' | 'excludeNamespace',
        { flags: `--exclude-${string} <${string}>`; description: string }
      >),
    },
    run: async (context) => (await import('./pkg-eval.ts')).run(context),
  }),
]
