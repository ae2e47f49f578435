// Approval by rule: drafts of variants whose authors may approve, as they made them, and no others.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import {
  delayAnnotation,
  observedRevision,
  PackageVariantKind,
  planApproval,
  policyAnnotation,
} from '@fairlead/variants'
import { eventually } from '../../../test/support/until.ts'
import { VariantStage } from './stage.ts'

const namespace = 'team-a'

let stage: VariantStage
/** Edits packages and variants, and may approve nothing. */
let editor: Client
beforeAll(async () => {
  stage = await VariantStage.start([namespace], new Map([['approval', 'true']]))
  const rules = [
    {
      apiGroups: ['config.porch.kpt.dev'],
      resources: ['packagevariants', 'packagevariantsets'],
      verbs: ['get', 'create', 'update', 'patch'],
    },
    {
      apiGroups: ['porch.kpt.dev'],
      resources: ['packagerevisions', 'packagerevisionresources'],
      verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'],
    },
  ]
  await stage.packages.grant('editor', rules, 'ed', namespace)
  editor = stage.packages.server.client({ as: { name: 'ed', groups: ['system:authenticated'] } })
  const settings = (mode: string): Record<string, string> => ({
    'settings.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  mode: ${mode}\n`,
  })
  await stage.publish('web', 'v1', settings('one'))
  await stage.publish('web', 'v2', settings('two'), 'catalog.web.v1')
}, 60_000)
afterAll(() => stage[Symbol.asyncDispose]())

/** The spec of a variant to a package of its own. */
function spec(name: string, revision: number, annotations: object = {}): object {
  return {
    upstream: { repo: 'catalog', package: 'web', revision },
    downstream: { repo: 'edge', package: name },
    annotations,
    packageContext: { data: { site: name } },
  }
}

const always = { [policyAnnotation]: 'always' }

const published = (name: string): Promise<PackageRevision> =>
  stage.revision(name, (revision) => revision.spec.lifecycle === 'Published')

/** Resolves when there is an event about a revision with this reason. */
const reported = (name: string, reason: string): Promise<void> =>
  eventually(async () => {
    const { items } = await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace })
    const reasons = (items as readonly (KubeObject & { reason?: string; regarding?: { name?: string } })[])
      .filter(({ regarding }) => regarding?.name === name)
      .map((event) => event.reason)
    expect(reasons).toContain(reason)
  })

test('the policy always approves each draft as soon as its variant is ready, a copy and an upgrade', async () => {
  await stage.apply('always', spec('always', 1, always))
  await published('edge.always.packagevariant-1')
  await stage.apply('always', spec('always', 2, always))
  const second = await published('edge.always.packagevariant-2')
  expect(second.spec.revision).toBe(2)
  expect((await stage.files(second.metadata.name!))['settings.yaml']).toContain('two')
  await reported('edge.always.packagevariant-2', 'Approved')
})

test('the policy initial approves the first revision of a package, and leaves the next to people', async () => {
  const annotations = { [policyAnnotation]: 'initial', [delayAnnotation]: '0s' }
  await stage.apply('initial', spec('initial', 1, annotations))
  await published('edge.initial.packagevariant-1')
  await stage.apply('initial', spec('initial', 2, annotations))
  const variant = await stage.variant(
    'initial',
    ({ status }) =>
      status?.downstreamTargets?.some(({ name, commit }) => name.endsWith('-2') && commit !== undefined) === true,
  )
  expect(variant.status?.downstreamTargets?.[0]?.lifecycle).toBe('Draft')
  // Whoever may approve still can.
  await stage.approve('edge.initial.packagevariant-2')
})

test('a user without the right to approve gets nothing approved through a variant', async () => {
  const { apiVersion, kind } = PackageVariantKind
  const variant = { apiVersion, kind, metadata: { name: 'eds', namespace }, spec: spec('eds', 1, always) }
  await expect(editor.create(variant as unknown as KubeObject)).rejects.toThrow(
    'cannot update resource "packagerevisions/approval"',
  )
  const set = {
    apiVersion: 'config.porch.kpt.dev/v1alpha2',
    kind: 'PackageVariantSet',
    metadata: { name: 'eds', namespace },
    spec: {
      upstream: { repo: 'catalog', package: 'web', revision: 1 },
      targets: [
        {
          repositories: [{ name: 'edge' }],
          template: { annotationExprs: [{ keyExpr: "'approval.nephio.org/policy'", value: 'always' }] },
        },
      ],
    },
  }
  await expect(editor.create(set as unknown as KubeObject)).rejects.toThrow('packagerevisions/approval')
  // What a variant that asks for approval makes is not theirs to change either.
  await stage.apply('held', spec('held', 1, { ...always, [delayAnnotation]: '24h' }))
  await stage.ready('held')
  await expect(
    editor.patch(PackageVariantKind, `${namespace}/held`, {
      merge: { spec: { packageContext: { data: { a: 'b' } } } },
    }),
  ).rejects.toThrow('packagerevisions/approval')
  await editor.patch(PackageVariantKind, `${namespace}/held`, { merge: { metadata: { labels: { a: 'b' } } } })
})

test('a draft that somebody has edited is held, whoever made it', async () => {
  await stage.apply('edited', spec('edited', 1, { ...always, [delayAnnotation]: '24h' }))
  await stage.ready('edited')
  const key = { namespace, name: 'edge.edited.packagevariant-1' }
  const read = await editor.get(PackageRevisionResourcesKind, key)
  const resources = {
    ...read.spec.resources,
    'more.yaml': read.spec.resources['settings.yaml']!.replace('settings', 'more'),
  }
  await editor.update({ ...read, spec: { ...read.spec, resources } })
  await stage.apply('edited', spec('edited', 1, always))
  await reported(key.name, 'ApprovalHeld')
  expect((await stage.revision(key.name)).spec.lifecycle).toBe('Draft')
})

test('a draft that an editor makes is held, although it names the variant as its controller and the policy', async () => {
  const { uid } = (await stage.apply('always', spec('always', 2, always))).metadata
  await published('edge.always.packagevariant-2')
  const { apiVersion, kind } = PackageVariantKind
  const forged = await editor.create<PackageRevision>({
    apiVersion: PackageRevisionKind.apiVersion,
    kind: 'PackageRevision',
    metadata: {
      namespace,
      annotations: always,
      ownerReferences: [{ apiVersion, kind, name: 'always', uid: uid!, controller: true }],
    },
    spec: {
      repository: 'edge',
      packageName: 'always',
      workspaceName: 'forged',
      lifecycle: 'Draft',
      tasks: [{ type: 'edit', edit: { sourceRef: { name: 'edge.always.packagevariant-2' } } }],
    },
  })
  await reported(forged.metadata.name!, 'ApprovalHeld')
  expect((await stage.revision(forged.metadata.name!)).spec.lifecycle).toBe('Draft')
})

test('a policy that does not exist is reported', async () => {
  await stage.apply('unknown', spec('unknown', 1, { [policyAnnotation]: 'sometimes' }))
  await reported('edge.unknown.packagevariant-1', 'ApprovalRefused')
})

const draft = observedRevision({
  apiVersion: 'porch.kpt.dev/v1alpha1',
  kind: 'PackageRevision',
  metadata: { name: 'edge.web.packagevariant-2' },
  spec: { repository: 'edge', packageName: 'web', workspaceName: 'packagevariant-2', lifecycle: 'Draft' },
} as PackageRevision)
const first = { ...draft, name: 'edge.web.packagevariant-1', lifecycle: 'Published', revision: 1 } as const
const initial = { [policyAnnotation]: 'initial' }
const delayed = (delay: string): Record<string, string> => ({ ...always, [delayAnnotation]: delay })

test.each([
  ['without a policy', {}, always, [], { op: 'leave' }],
  ['whose draft lost the policy', always, {}, [], { op: 'leave' }],
  ['with another policy than its draft', always, initial, [], { op: 'leave' }],
  ['with always', always, always, [first], { op: 'approve' }],
  ['with initial', initial, initial, [], { op: 'approve' }],
  ['with initial, and a published revision', initial, initial, [first], { op: 'leave' }],
  ['with initial, and the content of a branch', initial, initial, [{ ...first, revision: -1 }], { op: 'approve' }],
  ['with a delay that has passed', delayed('1m'), always, [], { op: 'approve' }],
  ['with a delay', delayed('1h30m'), always, [], { op: 'wait', time: 5_340_000 }],
  // The delay of the draft is anybody's.
  ['whose draft has another delay', delayed('2m'), delayed('1s'), [], { op: 'wait', time: 60_000 }],
  [
    'with a delay that is none',
    delayed('soon'),
    always,
    [],
    { op: 'refuse', message: `${delayAnnotation} is "soon": write a duration such as 30s, 10m or 1h30m` },
  ],
  [
    'with a policy that is none',
    { [policyAnnotation]: 'never' },
    always,
    [],
    { op: 'refuse', message: `${policyAnnotation} is "never": write initial or always` },
  ],
] as const)('a variant %s', (_title, annotations, ofDraft, others, plan) => {
  expect(
    planApproval({
      draft,
      annotations: ofDraft,
      createdAt: 0,
      spec: { annotations, downstream: { repo: 'edge', package: 'web' } },
      revisions: [draft, ...others],
      now: 60_000,
    }),
  ).toEqual(plan)
})
