// `fairlead rpkg …`, with the flags of porchctl.
import { command } from '@fairlead/controller/command'
import type { Command } from '@fairlead/controller/command'

const namespace = {
  flags: '-n, --namespace <namespace>',
  description: 'namespace of the package revisions; the namespace of the kubeconfig when left out',
} as const
const revisions = { revisions: { description: 'names of package revisions', variadic: true } } as const

function lifecycleCommand(
  name: 'approve' | 'delete' | 'propose' | 'propose-delete' | 'reject',
  summary: string,
): Command {
  return command({
    name,
    summary,
    examples: [`fairlead rpkg ${name} blueprints.web.v1 --namespace=default`],
    arguments: revisions,
    options: { namespace },
    usesCluster: true,
    run: async (context) => (await import('./lifecycle.ts')).run(name, context),
  })
}

/** The commands. */
export const rpkgCommands: readonly Command[] = [
  command({
    name: 'get',
    summary: 'List package revisions',
    examples: ['fairlead rpkg get --namespace=default', 'fairlead rpkg get --name=web -o yaml'],
    arguments: { revisions: { description: 'names of package revisions', optional: true, variadic: true } },
    options: {
      namespace,
      allNamespaces: { flags: '-A, --all-namespaces', description: 'list those of all namespaces' },
      name: { flags: '--name <name>', description: 'only revisions of this package' },
      revision: { flags: '--revision <number>', description: 'only revisions with this number' },
      workspace: { flags: '--workspace <name>', description: 'only revisions with this workspace' },
      showKptfile: { flags: '--show-kptfile', description: 'print the Kptfile of one revision' },
      noHeaders: { flags: '--no-headers', description: 'print no header of the table' },
      output: { flags: '-o, --output <format>', description: 'json, yaml, name, wide, jsonpath=… or custom-columns=…' },
    },
    usesCluster: true,
    run: async (context) => (await import('./get.ts')).run(context),
  }),
  command({
    name: 'init',
    summary: 'Create a new package',
    examples: ['fairlead rpkg init web --repository=blueprints --workspace=v1'],
    arguments: { package: { description: 'name or path of the package' } },
    options: {
      namespace,
      repository: { flags: '--repository <name>', description: 'repository of the package' },
      workspace: { flags: '--workspace <name>', description: 'workspace of the first revision' },
      description: {
        flags: '--description <text>',
        description: 'description of the package',
        default: 'sample description',
      },
      keywords: { flags: '--keywords <words>', description: 'keywords, separated by commas' },
      site: { flags: '--site <url>', description: 'web page of the package' },
    },
    usesCluster: true,
    run: async (context) => (await import('./create.ts')).init(context),
  }),
  command({
    name: 'clone',
    summary: 'Create a package from an upstream: a package revision, or a folder of a git repository',
    examples: [
      'fairlead rpkg clone blueprints.web.v1 shop --repository=edge --workspace=v1',
      'fairlead rpkg clone https://github.com/org/packages.git/web@v1 shop --repository=edge',
    ],
    arguments: {
      source: { description: 'name of a package revision, or address of a git repository' },
      package: { description: 'name or path of the new package' },
    },
    options: {
      namespace,
      repository: { flags: '--repository <name>', description: 'repository of the new package' },
      workspace: { flags: '--workspace <name>', description: 'workspace of the first revision', default: 'v1' },
      directory: { flags: '--directory <folder>', description: 'folder of the upstream in its repository' },
      ref: { flags: '--ref <ref>', description: 'branch, tag or commit of the upstream' },
      secretRef: { flags: '--secret-ref <name>', description: 'Secret with credentials for the upstream' },
    },
    usesCluster: true,
    run: async (context) => (await import('./create.ts')).clone(context),
  }),
  command({
    name: 'copy',
    summary: 'Create a revision from a published one of the same package',
    examples: ['fairlead rpkg copy blueprints.web.v1 --workspace=v2'],
    arguments: { source: { description: 'name of a published package revision' } },
    options: { namespace, workspace: { flags: '--workspace <name>', description: 'workspace of the new revision' } },
    usesCluster: true,
    run: async (context) => (await import('./create.ts')).copy(context),
  }),
  command({
    name: 'pull',
    summary: 'Print the files of a package revision, or write them to a folder',
    examples: ['fairlead rpkg pull blueprints.web.v1 ./web'],
    arguments: {
      revision: { description: 'name of a package revision' },
      folder: { description: 'folder to create', optional: true },
    },
    options: { namespace },
    usesCluster: true,
    run: async (context) => (await import('./pull.ts')).run(context),
  }),
  command({
    name: 'push',
    summary: 'Write the files of a draft',
    examples: ['fairlead rpkg push blueprints.web.v1 ./web', 'fairlead rpkg push blueprints.web.v1 - < web.yaml'],
    arguments: {
      revision: { description: 'name of a package revision' },
      folder: { description: 'folder with the files; - is standard input', optional: true },
    },
    options: { namespace },
    usesCluster: true,
    run: async (context) => (await import('./push.ts')).run(context),
  }),
  lifecycleCommand('propose', 'Propose drafts for approval'),
  lifecycleCommand('approve', 'Publish proposed package revisions'),
  lifecycleCommand('reject', 'Take proposed package revisions back'),
  lifecycleCommand('propose-delete', 'Propose published package revisions for deletion'),
  lifecycleCommand('delete', 'Delete package revisions'),
  command({
    name: 'tag',
    summary: 'Make a git tag name a published package revision; variants follow it',
    examples: ['fairlead rpkg tag blueprints.web.v1 stable --namespace=default'],
    arguments: {
      revision: { description: 'name of a published package revision' },
      tag: { description: 'the tag; it is <package>/<tag> in the repository' },
    },
    options: { namespace },
    usesCluster: true,
    run: async (context) => (await import('./tag.ts')).run(context),
  }),
  command({
    name: 'upgrade',
    summary: 'Create a revision with the changes of the upstream, or find such changes',
    examples: ['fairlead rpkg upgrade edge.shop.v1 --workspace=v2', 'fairlead rpkg upgrade --discover=upstream'],
    arguments: { revisions: { description: 'names of package revisions', optional: true, variadic: true } },
    options: {
      namespace,
      workspace: { flags: '--workspace <name>', description: 'workspace of the new revision' },
      revision: { flags: '--revision <number>', description: 'revision of the upstream; the latest when left out' },
      strategy: {
        flags: '--strategy <strategy>',
        description: 'merge strategy',
        default: 'resource-merge',
        choices: ['resource-merge', 'fast-forward', 'force-delete-replace', 'copy-merge'],
      },
      onConflict: {
        flags: '--on-conflict <side>',
        description: 'side that decides what upstream and the package both changed; fail creates nothing',
        default: 'upstream',
        choices: ['upstream', 'local', 'fail'],
      },
      discover: {
        flags: '--discover <direction>',
        description: 'find updates and create nothing',
        choices: ['upstream', 'downstream'],
      },
    },
    usesCluster: true,
    run: async (context) => (await import('./upgrade.ts')).run(context),
  }),
]
