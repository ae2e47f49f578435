// Two users, each with rights on one namespace: no path by which one reads, writes or approves what is the other's, and
// no right of the server that a writer borrows.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Client } from '@fairlead/client'
import { StatusError } from '@fairlead/kube'
import type { JsonObject, KubeObject, Status } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind, RepositoryKind } from '@fairlead/packages'
import type { Task } from '@fairlead/packages'
import { eventually } from '../../../test/support/until.ts'
import { Stage } from './stage.ts'

let stage: Stage
let ann: Client
let bob: Client
beforeEach(async () => {
  stage = await Stage.start(['team-a', 'team-b'])
  const rules = [
    { apiGroups: ['porch.kpt.dev'], resources: ['*'], verbs: ['*'] },
    { apiGroups: ['config.porch.kpt.dev'], resources: ['repositories'], verbs: ['*'] },
  ]
  await stage.grant('ann', rules, 'ann', 'team-a')
  await stage.grant('bob', rules, 'bob', 'team-b')
  ann = stage.server.client({ as: { name: 'ann', groups: ['system:authenticated'] } })
  bob = stage.server.client({ as: { name: 'bob', groups: ['system:authenticated'] } })
})
afterEach(() => stage[Symbol.asyncDispose]())

function editOf(name: string): Task {
  return { type: 'edit', edit: { sourceRef: { name } } }
}

const code = (expected: number): object => ({ status: { code: expected } })

function repository(name: string, namespace: string, git: object): KubeObject {
  return {
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'Repository',
    metadata: { name, namespace },
    spec: { type: 'git', git },
  } as KubeObject
}

test('keeps repositories of one name apart, and each user in their namespace', async () => {
  await stage.register('shared', {}, { namespace: 'team-a' })
  await stage.register('shared', {}, { namespace: 'team-b' })
  await stage.create('shared', 'web', 'one', undefined, { client: ann, namespace: 'team-a' })
  expect((await bob.list(PackageRevisionKind, { namespace: 'team-b' })).items).toEqual([])
  await stage.register('shared-b', {}, { namespace: 'team-a' })
  for (const [name, namespace] of [
    ['shared-b', 'team-a'],
    ['shared', 'team-b'],
  ] as const)
    await stage.create(name, 'web', 'one', undefined, { namespace })
  const inPages = await stage.client.list(PackageRevisionKind, { pageSize: 1 })
  expect(inPages.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
    'team-a/shared-b.web.one',
    'team-a/shared.web.one',
    'team-b/shared.web.one',
  ])
  const key = { namespace: 'team-a', name: 'shared.web.one' }
  await expect(bob.get(PackageRevisionKind, key)).rejects.toMatchObject(code(403))
  await expect(bob.get(PackageRevisionResourcesKind, key)).rejects.toMatchObject(code(403))
  await expect(bob.list(PackageRevisionKind)).rejects.toMatchObject(code(403))
  await expect(bob.delete(PackageRevisionKind, key)).rejects.toMatchObject(code(403))
  await stage.setLifecycle('shared.web.one', 'Proposed')
  await expect(
    stage.setLifecycle('shared.web.one', 'Published', { approval: true, client: bob }),
  ).rejects.toMatchObject(code(403))
})

test('takes no upstream from another namespace', async () => {
  await stage.register('blueprints', {}, { namespace: 'team-a' })
  await stage.register('edge', {}, { namespace: 'team-b' })
  await stage.publish('blueprints', 'web', 'one')
  const clone = { type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'blueprints.web.one' } } } }
  await expect(stage.create('edge', 'shop', 'one', clone, { client: bob, namespace: 'team-b' })).rejects.toMatchObject(
    code(404),
  )
  await expect(
    stage.create('blueprints', 'shop', 'one', undefined, { client: bob, namespace: 'team-b' }),
  ).rejects.toMatchObject(code(404))
})

test('copies no revision for a user who may not read its files', async () => {
  await stage.register('blueprints')
  await stage.publish('blueprints', 'web', 'one')
  await stage.grant(
    'creator',
    [{ apiGroups: ['porch.kpt.dev'], resources: ['packagerevisions'], verbs: ['create', 'get'] }],
    'eve',
    'team-a',
  )
  const eve = stage.server.client({ as: { name: 'eve', groups: ['system:authenticated'] } })
  const clone = { type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'blueprints.web.one' } } } }
  await expect(stage.create('blueprints', 'shop', 'one', clone, { client: eve })).rejects.toMatchObject({
    status: { code: 403, message: expect.stringContaining('cannot get resource "packagerevisionresources"') as string },
  })
})

test('takes no base of an upgrade from a commit that the user may not read', async () => {
  await stage.register('blueprints')
  const secret = await stage.publish('blueprints', 'secret', 'one')
  for (const workspace of ['one', 'two'])
    await stage.publish('blueprints', 'web', workspace, workspace === 'one' ? undefined : editOf('blueprints.web.one'))
  const clone = { type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'blueprints.web.one' } } } }
  await stage.create('blueprints', 'shop', 'one', clone)
  await stage.create('blueprints', 'spy', 'one', clone)
  const { commit = '', directory = '' } = secret.status?.selfLock?.git ?? {}
  await stage.save('blueprints.spy.one', (files) => {
    files['Kptfile'] = files['Kptfile']!.replace(/commit: \w+/, `commit: ${commit}`).replace(
      /(upstreamLock:[^]*directory:) web/,
      `$1 ${directory}`,
    )
  })
  for (const name of ['blueprints.shop.one', 'blueprints.spy.one']) {
    await stage.setLifecycle(name, 'Proposed')
    await stage.setLifecycle(name, 'Published', { approval: true })
  }
  const names = ['one', 'two'].map((one) => `blueprints.web.${one}`).concat('blueprints.shop.one', 'blueprints.spy.one')
  const rules = [
    { apiGroups: ['porch.kpt.dev'], resources: ['packagerevisions'], verbs: ['create', 'get'] },
    {
      apiGroups: ['porch.kpt.dev'],
      resources: ['packagerevisionresources'],
      resourceNames: names,
      verbs: ['get'],
    },
  ]
  await stage.grant('upgrader', rules, 'eve', 'team-a')
  const eve = stage.server.client({ as: { name: 'eve', groups: ['system:authenticated'] } })
  const upgrade = (name: string): Task => ({
    type: 'upgrade',
    upgrade: {
      oldUpstreamRef: { name: 'blueprints.web.one' },
      newUpstreamRef: { name: 'blueprints.web.two' },
      localPackageRevisionRef: { name },
    },
  })
  await stage.create('blueprints', 'shop', 'two', upgrade('blueprints.shop.one'), { client: eve })
  await expect(
    stage.create('blueprints', 'spy', 'two', upgrade('blueprints.spy.one'), { client: eve }),
  ).rejects.toMatchObject({
    status: { code: 403, message: expect.stringContaining(`names the commit ${commit} of blueprints`) as string },
  })
})

test('approves with the right on the approval subresource only', async () => {
  await stage.register('blueprints')
  await stage.create('blueprints', 'web', 'one')
  await stage.setLifecycle('blueprints.web.one', 'Proposed')
  await stage.grant(
    'editor',
    [{ apiGroups: ['porch.kpt.dev'], resources: ['packagerevisions'], verbs: ['get', 'update'] }],
    'eve',
    'team-a',
  )
  const eve = stage.server.client({ as: { name: 'eve', groups: ['system:authenticated'] } })
  await expect(
    stage.setLifecycle('blueprints.web.one', 'Published', { approval: true, client: eve }),
  ).rejects.toMatchObject(code(403))
  await expect(stage.setLifecycle('blueprints.web.one', 'Published', { client: eve })).rejects.toMatchObject(code(422))
})

test('reads no files of the server for users without the right to use local repositories', async () => {
  const local = stage.bareRepository('private')
  await expect(ann.create(repository('local', 'team-a', { repo: local }))).rejects.toMatchObject({
    status: { code: 403, message: expect.stringContaining('spec.git.repo is a path on the server') as string },
  })
  await expect(ann.create(repository('local', 'team-a', { repo: `file://${local}` }))).rejects.toMatchObject(code(403))
  await stage.register('blueprints')
  const git = { repo: local, ref: 'main', directory: '/' }
  const clone = { type: 'clone', clone: { upstreamRef: { type: 'git', git } } }
  await expect(stage.create('blueprints', 'web', 'one', clone, { client: ann })).rejects.toMatchObject({
    status: { code: 403, message: expect.stringContaining('is a path on the server') as string },
  })
  await stage.grant(
    'local',
    [{ apiGroups: ['config.porch.kpt.dev'], resources: ['localrepositories'], verbs: ['use'] }],
    'ann',
  )
  await ann.create(repository('local', 'team-a', { repo: local }))
})

test('sends no Secret that the writer may not read', async () => {
  await stage.client.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'robot', namespace: 'team-a' },
    data: { username: 'YQ==', password: 'Yg==' },
  } as KubeObject)
  const git = { repo: 'https://attacker.example/x.git', secretRef: { name: 'robot' } }
  await expect(ann.create(repository('thief', 'team-a', git))).rejects.toMatchObject({
    status: { code: 403, message: expect.stringContaining('spec.git.secretRef names the Secret') as string },
  })
  await stage.register('blueprints')
  const source = { repo: git.repo, ref: 'main', directory: '/', secretRef: { name: 'robot' } }
  const clone = { type: 'clone', clone: { upstreamRef: { type: 'git', git: source } } }
  await expect(stage.create('blueprints', 'web', 'one', clone, { client: ann })).rejects.toMatchObject(code(403))
})

test('gives a Repository of a former name none of the content of the deleted one', async () => {
  await stage.register('blueprints')
  await stage.publish('blueprints', 'web', 'one')
  const { uid, resourceVersion } = (await stage.client.get(RepositoryKind, 'team-a/blueprints')).metadata
  await stage.client.delete(RepositoryKind, 'team-a/blueprints', { preconditions: { uid, resourceVersion } })
  await eventually(async () => expect(await stage.client.find(RepositoryKind, 'team-a/blueprints')).toBeUndefined())
  await stage.register('blueprints')
  expect((await stage.client.list(PackageRevisionKind, { namespace: 'team-a' })).items).toEqual([])
})

test.each([
  [{ repo: 'ext::sh -c id' }, 'spec.git.repo'],
  [{ repo: 'https://user:secret@example.test/x.git' }, 'spec.git.repo'],
  [{ repo: 'http://169.254.169.254/x.git' }, 'spec.git.repo'],
  [{ repo: 'ssh://git@[fe80::1]/x.git' }, 'spec.git.repo'],
  [{ branch: 'drafts/web' }, 'spec.git.branch'],
  [{ branch: '--upload-pack=x' }, 'spec.git.branch'],
  [{ branch: 'a..b' }, 'spec.git.branch'],
  [{ directory: '../other' }, 'spec.git.directory'],
])('refuses the Repository %j', async (git, field) => {
  await expect(stage.client.create(repository('bad', 'team-a', git))).rejects.toMatchObject({
    status: { code: 422, message: expect.stringContaining(field) as string },
  })
})

test('shows a user nothing of the other namespace: states, results, errors, packages, the index and reads of git', async () => {
  const url = 'http://127.0.0.1:1/secret-host.git'
  await stage.register('blueprints')
  await stage.register('broken', { repo: url })
  const task: Task = { type: 'init', init: { description: 'secret-text' } }
  await stage.publish('blueprints', 'secret', 'one', task)
  await stage.create('blueprints', 'draft', 'one', task)
  await stage.register('own', {}, { namespace: 'team-b' })
  const apiVersion = 'porch.kpt.dev/v1alpha1'
  const [namespace, name] = ['team-a', 'blueprints.secret.one']
  const preview = { kind: 'PackageRevisionPreview', apiVersion, metadata: { namespace } }
  const upstreamRef = { name }
  const clone = { type: 'clone', clone: { upstreamRef: { upstreamRef } } }
  const ownPreview = {
    ...preview,
    metadata: { namespace: 'team-b' },
    spec: { repository: 'own', packageName: 'web', tasks: [clone] },
  }
  const packageRev = { apiVersion: 'config.porch.kpt.dev/v1alpha1', kind: 'PackageRev' }
  const packageKind = { apiVersion, kind: 'PorchPackage' }
  const revisions = `/apis/porch.kpt.dev/v1alpha1/namespaces/${namespace}/packagerevisions`
  const post = async (path: string, body: JsonObject): Promise<void> => {
    const response = await bob.transport.request({ method: 'POST', path, body })
    if (response.status >= 400) throw new StatusError(response.body as unknown as Status)
  }
  const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
    'the index': () => bob.list(PackageRevisionKind, { namespace }),
    'the index of all namespaces': () => bob.list(PackageRevisionKind),
    packages: () => bob.list(packageKind, { namespace }),
    'a package': () => bob.get(packageKind, { namespace, name: 'blueprints.secret' }),
    files: () => bob.list(PackageRevisionResourcesKind, { namespace }),
    'states and results of functions': () => bob.list(packageRev, { namespace }),
    'results of functions of one revision': () => bob.get(packageRev, { namespace, name }),
    'errors of repositories': () => bob.get(RepositoryKind, { namespace, name: 'broken' }),
    events: () => bob.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace }),
    'a preview there': () =>
      bob.create({ ...preview, spec: { repository: 'blueprints', packageName: 'web' } } as KubeObject),
    'a preview here of a revision there': () => bob.create(ownPreview as KubeObject),
    'a tag': () => post(`${revisions}/${name}/tag`, { apiVersion, kind: 'PackageRevisionTag', spec: { tag: 'x' } }),
    'an approval': () => stage.setLifecycle('blueprints.draft.one', 'Published', { approval: true, client: bob }),
    'a read of git': () => post(`/webhooks/git/${namespace}/blueprints`, {}),
  }
  const outcomes: Record<string, unknown> = {}
  for (const [what, attempt] of Object.entries(attempts))
    outcomes[what] = await attempt().then(
      () => 'allowed',
      (error: unknown) => error instanceof StatusError && error.code >= 403 && !leaks(error),
    )
  expect(outcomes).toEqual(Object.fromEntries(Object.keys(attempts).map((what) => [what, true])))
})

/** Reports whether an error has content of the other namespace. */
function leaks(error: unknown): boolean {
  return /secret-text|secret-host/.test(`${String(error)} ${JSON.stringify(error)}`)
}
