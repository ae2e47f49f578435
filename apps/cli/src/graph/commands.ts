// Declares `fairlead graph` and `fairlead why`; their implementations load when they run.
import type { Command as Parser } from 'commander'
import { command } from '@fairlead/controller/command'
import type { CompletionContext } from '@fairlead/controller/command'
import { addCommand } from '../capability-command.ts'

const commandArguments = {
  object: { description: 'KIND/NAME; or KIND, and the name after it' },
  name: {
    description: 'the name, where it is not part of the first argument',
    optional: true,
    candidates: async (context: CompletionContext) => (await import('./object-names.ts')).objectNames(context),
  },
} as const

const namespace = {
  flags: '-n, --namespace <namespace>',
  description: 'namespace of the object; the namespace of the kubeconfig when left out',
} as const

const graph = command({
  name: 'graph',
  summary: 'Show what an object comes from and what comes of it, through all capabilities',
  examples: [
    'fairlead graph workload/web -n team-a',
    'fairlead graph mapcontroller/copies --direction down --depth 1',
    'fairlead graph deployments.apps web -o mermaid',
    'fairlead graph packagerevision/edge.shop.v1 -o json',
  ],
  arguments: commandArguments,
  options: {
    namespace,
    direction: {
      flags: '--direction <direction>',
      description: 'up: what it comes from; down: what comes of it',
      choices: ['up', 'down', 'both'],
      default: 'both',
    },
    depth: { flags: '--depth <number>', description: 'number of steps from the object; all when left out' },
    all: { flags: '--all', description: 'show each of many equal objects, which are counted otherwise' },
    output: {
      flags: '-o, --output <format>',
      description: 'output format',
      choices: ['tree', 'mermaid', 'dot', 'json', 'yaml'],
      default: 'tree',
    },
  },
  usesCluster: true,
  run: async (context) => (await import('./graph.ts')).run(context),
})

const why = command({
  name: 'why',
  summary: 'Say what an object waits for, through all capabilities, and what to do next',
  examples: [
    'fairlead why workload/web -n team-a',
    'fairlead why packagevariantset web -n fleet',
    'fairlead why deployment/web -o json',
    'until fairlead why workload/web >/dev/null; do sleep 5; done',
  ],
  arguments: commandArguments,
  options: {
    namespace,
    all: { flags: '--all', description: 'show each of many equal causes, which are counted otherwise' },
    output: {
      flags: '-o, --output <format>',
      description: 'output format',
      choices: ['text', 'json', 'yaml'],
      default: 'text',
    },
  },
  usesCluster: true,
  run: async (context) => (await import('./why.ts')).run(context),
})

/** Adds the commands. */
export function addGraphCommands(root: Parser): void {
  addCommand(root, graph)
  addCommand(root, why)
}
