// The definitions of the resources of porch.kpt.dev, which are served from git: names, schemas, columns.
import type { StorageColumn } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { latestLabel, porchGroup } from '../api.ts'

const string = (description: string): JsonObject => ({ type: 'string', description })
const object = (description: string, properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  description,
  properties,
  ...(required.length > 0 && { required: [...required] }),
})
const list = (description: string, items: JsonObject): JsonObject => ({ type: 'array', description, items })
const strings = (description: string): JsonObject => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string' },
})
const reference = (description: string): JsonObject =>
  object(description, { name: string('Name of the PackageRevision.') })
const secretReference = object('Secret with credentials, in the namespace of the revision.', {
  name: string('Name of the Secret.'),
})
const gitPackage = object('A package in a git repository.', {
  repo: string('Address of the git repository.'),
  ref: string('Branch, tag or commit.'),
  directory: string('Folder of the package.'),
  secretRef: secretReference,
})
const lock = (description: string): JsonObject =>
  object(description, {
    type: string('`git`.'),
    git: object('Place in a git repository.', {
      repo: string('Address of the repository.'),
      directory: string('Folder of the package.'),
      ref: string('Branch or tag.'),
      commit: string('Hash of the commit.'),
    }),
  })
const condition = object(
  'A condition of the package.',
  {
    type: string('Type of the condition.'),
    status: string('True, False or Unknown.'),
    reason: string('Why, in one word.'),
    message: string('Why, in a sentence.'),
  },
  ['type', 'status'],
)

const conflict = object(
  'One thing that upstream and the package changed in different ways.',
  {
    file: string('File of the package.'),
    resource: string('Group, kind, namespace and name of the resource; absent for other files.'),
    path: string('Path of the field; absent for a whole resource or file.'),
    base: string('YAML of the value in the base; absent where there is none. Values over 512 characters are cut.'),
    ours: string('YAML of the value in the package.'),
    theirs: string('YAML of the value upstream.'),
    taken: { type: 'string', description: 'The side that was taken.', enum: ['upstream', 'local'] },
  },
  ['file', 'taken'],
)

const task = object(
  'The origin of a revision.',
  {
    type: { type: 'string', description: 'Kind of the task: init, clone, edit or upgrade.' },
    init: object('Makes an empty package.', {
      subpackage: string('Folder below the package.'),
      description: string('Description of the package.'),
      keywords: list('Keywords of the package.', { type: 'string' }),
      site: string('Web page of the package.'),
    }),
    clone: object('Makes a package from an upstream.', {
      upstreamRef: object('The upstream.', {
        type: string('`git` for a package that is not registered.'),
        git: gitPackage,
        upstreamRef: reference('A revision of a registered package.'),
      }),
    }),
    edit: object('Makes a revision from another of the same package.', {
      sourceRef: reference('A published revision of the package.'),
    }),
    upgrade: object('Makes a revision with the changes of the upstream.', {
      oldUpstreamRef: reference('The upstream revision that the package was made from.'),
      newUpstreamRef: reference('The upstream revision to take.'),
      localPackageRevisionRef: reference('The revision of this package to change.'),
      strategy: {
        type: 'string',
        description: 'The merge strategy; resource-merge when left out.',
        enum: ['resource-merge', 'fast-forward', 'force-delete-replace', 'copy-merge'],
      },
      onConflict: {
        type: 'string',
        description:
          'The side that decides what upstream and the package both changed; upstream when left out. With fail, conflicts refuse the revision.',
        enum: ['upstream', 'local', 'fail'],
      },
    }),
  },
  ['type'],
)

const identityFields: JsonObject = {
  packageName: string('Path of the package below the directory of the Repository.'),
  repository: string('Name of the Repository.'),
  workspaceName: string('Name of the revision among those of the package.'),
}

function definition(
  names: { readonly kind: string; readonly plural: string; readonly singular: string },
  description: string,
  properties: JsonObject,
): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${porchGroup}` },
    spec: {
      group: porchGroup,
      scope: 'Namespaced',
      names: { ...names, listKind: `${names.kind}List`, categories: ['fairlead'] },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', description, properties } },
        },
      ],
    },
  } as unknown as KubeObject
}

/** Definition of PackageRevisions. */
export const packageRevisionDefinition: KubeObject = definition(
  { kind: 'PackageRevision', plural: 'packagerevisions', singular: 'packagerevision' },
  'A revision of a configuration package in a git repository.',
  {
    spec: object('The revision and its lifecycle.', {
      ...identityFields,
      revision: {
        'x-kubernetes-int-or-string': true,
        description: 'Number of a published revision; -1 for the content of the branch. Set on approval.',
      },
      lifecycle: {
        type: 'string',
        description: 'State of the revision. Published is set through the approval subresource.',
      },
      tasks: list('How to make the revision: one task, init when left out.', task),
      readinessGates: list(
        'Conditions that must be True for approval into a deployment repository; from the Kptfile.',
        object('A gate.', { conditionType: string('Type of the condition.') }),
      ),
      packageMetadata: object('Labels and annotations of the package, as in the Kptfile.', {
        labels: strings('Labels of the Kptfile.'),
        annotations: strings('Annotations of the Kptfile.'),
      }),
      parent: reference('Deprecated.'),
      resources: strings(
        'Files in place of those that the task makes, at creation: task, changes and render are one commit. Never returned; read the PackageRevisionResources.',
      ),
    }),
    status: object('What git says about the revision.', {
      upstreamLock: lock('The upstream content that the package was made from.'),
      selfLock: lock('The place of the revision.'),
      publishedBy: string('The user who approved the revision.'),
      publishTimestamp: { type: 'string', format: 'date-time', description: 'Time of the approval.' },
      deployment: { type: 'boolean', description: 'The Repository holds packages that are ready to deploy.' },
      conditions: list('Conditions of the Kptfile, and UpstreamMerged of a revision that an upgrade made.', condition),
      conflicts: list('What upstream and the package both changed, of an upgrade: the first 50.', conflict),
    }),
  },
)

/** Definition of PackageRevisionResources. */
export const resourcesDefinition: KubeObject = definition(
  {
    kind: 'PackageRevisionResources',
    plural: 'packagerevisionresources',
    singular: 'packagerevisionresources',
  },
  'The files of a package revision. Those of a draft can be written.',
  {
    spec: object('The files.', {
      ...identityFields,
      revision: { type: 'integer', description: 'Number of a published revision.' },
      resources: strings('Content by path.'),
    }),
    status: object('The outcome of the functions.', {
      renderStatus: {
        type: 'object',
        description: 'Results of the last render.',
        'x-kubernetes-preserve-unknown-fields': true,
      },
    }),
  },
)

/** Definition of PackageRevisionPreviews. */
export const previewDefinition: KubeObject = definition(
  { kind: 'PackageRevisionPreview', plural: 'packagerevisionpreviews', singular: 'packagerevisionpreview' },
  'Asks for the files that a task would make. Nothing is stored.',
  {
    spec: object(
      'The revision that would be made.',
      {
        packageName: identityFields['packageName']!,
        repository: identityFields['repository']!,
        tasks: list('How to make the revision: one task, init when left out.', task),
        resources: strings('Files in place of those that the task makes.'),
        functions: {
          type: 'object',
          description:
            'A pipeline, as in a Kptfile, that runs once before that of the Kptfile and is not stored in it.',
          'x-kubernetes-preserve-unknown-fields': true,
        },
        render: { type: 'boolean', description: 'Run the pipeline of the Kptfile.' },
      },
      ['packageName', 'repository'],
    ),
    status: object('The answer.', {
      resources: strings('Content by path, of files that are UTF-8.'),
      conflicts: list('What upstream and the local revision both changed.', {
        type: 'object',
        description: 'A conflict: file, resource, path, base, ours, theirs, and the side that was taken.',
        'x-kubernetes-preserve-unknown-fields': true,
      }),
      renderStatus: {
        type: 'object',
        description: 'Results of the functions that ran last.',
        'x-kubernetes-preserve-unknown-fields': true,
      },
      failure: string('The message of the functions that failed.'),
    }),
  },
)

/** Definition of PorchPackages. */
export const packageDefinition: KubeObject = definition(
  { kind: 'PorchPackage', plural: 'packages', singular: 'package' },
  'A package: all revisions of one path of a repository.',
  {
    spec: object('The package.', {
      packageName: identityFields['packageName']!,
      repository: identityFields['repository']!,
    }),
    status: object('Its revisions.', {
      latestRevision: { type: 'integer', description: 'The highest published number; 0 without one.' },
    }),
  },
)

function column(
  name: string,
  description: string,
  field: readonly string[],
  more: Partial<StorageColumn> = {},
): StorageColumn {
  return { name, type: 'string', description, cell: (value) => cell(at(value, field)), ...more }
}

const spec = (name: string): readonly string[] => ['spec', name]
const packageColumn = column('Package', 'Path of the package.', spec('packageName'))
const workspaceColumn = column('WorkspaceName', 'Workspace of the revision.', spec('workspaceName'))
const revisionColumn = column('Revision', 'Number of the revision.', [], {
  type: 'integer',
  cell: (value) => Number(at(value, spec('revision')) ?? 0),
})
const repositoryColumn = column('Repository', 'Name of the Repository.', spec('repository'))

/** Columns of PackageRevisions. */
export const packageRevisionColumns: readonly StorageColumn[] = [
  packageColumn,
  workspaceColumn,
  revisionColumn,
  {
    name: 'Latest',
    type: 'boolean',
    description: 'The published revision with the highest number.',
    cell: ({ metadata }) => metadata.labels?.[latestLabel] === 'true',
  },
  column('Lifecycle', 'State of the revision.', spec('lifecycle')),
  repositoryColumn,
]

/** Columns of PackageRevisionResources. */
export const resourcesColumns: readonly StorageColumn[] = [
  packageColumn,
  workspaceColumn,
  revisionColumn,
  repositoryColumn,
  {
    name: 'Files',
    type: 'integer',
    description: 'Number of files.',
    cell: (value) => Object.keys((at(value, spec('resources')) ?? {}) as object).length,
  },
]

/** Columns of PorchPackages. */
export const packageColumns: readonly StorageColumn[] = [
  packageColumn,
  repositoryColumn,
  column('Latest Revision', 'The highest published number.', [], {
    type: 'integer',
    cell: (value) => Number(at(value, ['status', 'latestRevision']) ?? 0),
  }),
]

/** Fields that field selectors may name, beside name and namespace. */
export const revisionFields: Readonly<Record<string, (object: KubeObject) => string>> = Object.fromEntries(
  ['revision', 'packageName', 'repository', 'workspaceName', 'lifecycle'].map((name) => [
    `spec.${name}`,
    (value: KubeObject) => String(at(value, spec(name)) ?? (name === 'revision' ? 0 : '')),
  ]),
)

/** Fields of PorchPackages that field selectors may name. */
export const packageFields: Readonly<Record<string, (object: KubeObject) => string>> = Object.fromEntries(
  ['packageName', 'repository'].map((name) => [`spec.${name}`, (value: KubeObject) => String(at(value, spec(name)))]),
)

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value)
}

function cell(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
