// The life of package revisions through the API, on managed and remote repositories.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kind, Namespace } from '@fairlead/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import type { PorchPackage, Repository } from '@fairlead/packages'
import { run as runLifecycle } from '../src/commands/rpkg/lifecycle.ts'
import { run } from '../src/commands/rpkg/tag.ts'
import { eventually } from '../../../test/support/until.ts'
import { conditionOf, git, refsOf, Stage } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await Stage.start()
})
afterEach(() => stage[Symbol.asyncDispose]())

const managed = (): string => join(stage.folder, 'data', 'managed', 'team-a', 'blueprints.git')

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`

describe('a managed repository', () => {
  test('serves a package from draft to deletion', async () => {
    const registered = await stage.register('blueprints')
    expect(conditionOf(registered)).toEqual(['True', 'Ready', 'Repository Ready'])

    const draft = await stage.create('blueprints', 'net/web', 'first', {
      type: 'init',
      init: { description: 'Web', keywords: ['a', 'b'] },
    })
    expect(draft).toMatchObject({
      metadata: { name: 'blueprints.net.web.first', namespace: 'team-a' },
      spec: { lifecycle: 'Draft', packageName: 'net/web', repository: 'blueprints', workspaceName: 'first' },
      status: { selfLock: { git: { directory: 'net/web', ref: 'drafts/net/web/first' } } },
    })
    expect(draft.spec.revision).toBeUndefined()
    expect(refsOf(managed())).toEqual(['refs/heads/drafts/net/web/first'])

    const proposed = await stage.setLifecycle('blueprints.net.web.first', 'Proposed')
    expect(proposed.spec.lifecycle).toBe('Proposed')
    expect(refsOf(managed())).toEqual(['refs/heads/proposed/net/web/first'])

    const published = await stage.setLifecycle('blueprints.net.web.first', 'Published', { approval: true })
    expect(published).toMatchObject({
      metadata: { labels: { 'kpt.dev/latest-revision': 'true' } },
      spec: { lifecycle: 'Published', revision: 1 },
      status: { publishedBy: 'system:admin', selfLock: { git: { ref: 'net/web/v1' } } },
    })
    expect(refsOf(managed())).toEqual(['refs/heads/main', 'refs/tags/net/web/v1'])
    expect(git(managed(), 'log', '-1', '--format=%B', 'main')).toContain(
      'kpt:{"package":"net/web","workspaceName":"first","revision":"1"}',
    )

    await stage.setLifecycle('blueprints.net.web.first', 'DeletionProposed', { approval: true })
    expect(refsOf(managed())).toContain('refs/heads/deletionProposed/net/web/v1')
    await stage.client.delete(PackageRevisionKind, 'team-a/blueprints.net.web.first')
    expect(refsOf(managed())).toEqual(['refs/heads/main'])
    expect(git(managed(), 'ls-tree', '-r', '--name-only', 'main')).toBe('')
    expect((await stage.client.list(PackageRevisionKind, { namespace: 'team-a' })).items).toEqual([])
  })

  test('keeps everything when the server loses its database', async () => {
    await stage.register('blueprints')
    await stage.publish('blueprints', 'web', 'one')
    await stage.create('blueprints', 'web', 'two', {
      type: 'edit',
      edit: { sourceRef: { name: 'blueprints.web.one' } },
    })
    const names = async (): Promise<unknown> =>
      (await stage.client.list(PackageRevisionKind, { namespace: 'team-a' })).items
        .map(({ metadata, spec }) => [metadata.name, spec.lifecycle, spec.revision, spec.tasks?.[0]?.type])
        .sort()
    const before = await names()
    await stage.stopCapability()
    await stage.startCapability()
    expect(await names()).toEqual(before)
    expect(before).toEqual([
      ['blueprints.web.main', 'Published', -1, undefined],
      ['blueprints.web.one', 'Published', 1, 'init'],
      ['blueprints.web.two', 'Draft', undefined, 'edit'],
    ])
  })
})

test('writes through to a remote repository, and sees what others push', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  expect(refsOf(remote)).toEqual(['refs/heads/main', 'refs/tags/web/v1'])

  const clone = join(stage.folder, 'clone')
  git(stage.folder, 'clone', '--quiet', remote, clone)
  git(clone, 'tag', 'web/v2')
  git(clone, 'push', '--quiet', 'origin', 'web/v2')
  const hook = await stage.server.inject({
    method: 'POST',
    path: '/webhooks/git/team-a/blueprints',
    user: { name: 'admin', groups: ['system:masters'] },
  })
  expect(hook.status).toBe(202)
  const seen = await stage.client.waitFor(
    PackageRevisionKind,
    'team-a/blueprints.web.v2',
    (object) => object !== undefined,
  )
  expect([seen?.spec.revision, seen?.metadata.labels]).toEqual([2, { 'kpt.dev/latest-revision': 'true' }])
})

test('leaves names that are not UTF-8 and files that can be executed as others committed them', async () => {
  const remote = stage.bareRepository('remote')
  const clone = join(stage.folder, 'clone')
  git(stage.folder, 'clone', '--quiet', remote, clone)
  const latin = Buffer.concat([Buffer.from(`${clone}/`), Buffer.from('caf\xe9.txt', 'latin1')])
  writeFileSync(latin, 'not of a package')
  mkdirSync(join(clone, 'web'))
  writeFileSync(
    join(clone, 'web', 'Kptfile'),
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline: {}\n',
  )
  writeFileSync(join(clone, 'web', 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  git(clone, 'checkout', '--quiet', '-B', 'main')
  git(clone, 'add', '--all')
  git(clone, 'commit', '--quiet', '--message', 'By hand')
  git(clone, 'tag', 'web/v1')
  git(clone, 'push', '--quiet', 'origin', 'main', 'web/v1')
  const tree = (): readonly string[] =>
    git(remote, '-c', 'core.quotePath=true', 'ls-tree', '-r', '--format=%(objectmode) %(path)', 'main')
      .trim()
      .split('\n')
  expect(tree()).toEqual(['100644 "caf\\351.txt"', '100644 web/Kptfile', '100755 web/run.sh'])
  await stage.register('blueprints', { repo: remote })
  await stage.create('blueprints', 'web', 'two', {
    type: 'edit',
    edit: { sourceRef: { name: 'blueprints.web.v1' } },
  })
  await stage.save('blueprints.web.two', (files) => {
    files['run.sh'] = '#!/bin/sh\necho\n'
    files['new.yaml'] = configMap('new')
  })
  await stage.setLifecycle('blueprints.web.two', 'Proposed')
  await stage.setLifecycle('blueprints.web.two', 'Published', { approval: true })
  expect(tree()).toEqual(['100644 "caf\\351.txt"', '100644 web/Kptfile', '100644 web/new.yaml', '100755 web/run.sh'])
})

test('a clone, a copy and an upgrade of a package have its files that can be executed', async () => {
  const remote = stage.bareRepository('remote')
  const clone = join(stage.folder, 'clone')
  git(stage.folder, 'clone', '--quiet', remote, clone)
  git(clone, 'checkout', '--quiet', '-B', 'main')
  const publish = (revision: string, ...programs: readonly string[]): void => {
    mkdirSync(join(clone, 'web/bin'), { recursive: true })
    const kptfile = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline: {}\n'
    writeFileSync(join(clone, 'web/Kptfile'), kptfile)
    for (const program of programs) writeFileSync(join(clone, 'web/bin', program), '#!/bin/sh\n', { mode: 0o755 })
    git(clone, 'add', '--all')
    git(clone, 'commit', '--quiet', '--message', revision)
    git(clone, 'tag', `web/${revision}`)
  }
  publish('v1', 'run.sh')
  publish('v2', 'run.sh', 'stop.sh')
  git(clone, 'push', '--quiet', 'origin', 'main', 'web/v1', 'web/v2')
  await stage.register('blueprints', { repo: remote })
  const copies = stage.bareRepository('copies')
  await stage.register('copies', { repo: copies })
  const programs = (ref: string): readonly string[] =>
    git(copies, 'ls-tree', '-r', '--format=%(objectmode) %(path)', ref)
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('100755'))

  const upstreamRef = { name: 'blueprints.web.v1' }
  await stage.create('copies', 'mine', 'one', { type: 'clone', clone: { upstreamRef: { upstreamRef } } })
  expect(programs('drafts/mine/one')).toEqual(['100755 mine/bin/run.sh'])
  await stage.setLifecycle('copies.mine.one', 'Proposed')
  await stage.setLifecycle('copies.mine.one', 'Published', { approval: true })
  const upgrade = {
    oldUpstreamRef: upstreamRef,
    newUpstreamRef: { name: 'blueprints.web.v2' },
    localPackageRevisionRef: { name: 'copies.mine.one' },
  }
  await stage.create('copies', 'mine', 'two', { type: 'upgrade', upgrade })
  expect(programs('drafts/mine/two')).toEqual(['100755 mine/bin/run.sh', '100755 mine/bin/stop.sh'])
})

test('a Repository stays at its address, branch and folder, however they were left out or set', async () => {
  const repository = (name: string, spec: object): Repository =>
    ({
      apiVersion: 'config.porch.kpt.dev/v1alpha1',
      kind: 'Repository',
      metadata: { name, namespace: 'team-a' },
      spec,
    }) as Repository
  await stage.client.create(repository('bare', { type: 'git' }))
  await stage.client.create(repository('full', { type: 'git', git: { branch: 'dev', directory: 'apps' } }))
  const refusals: [string, object, string][] = [
    ['bare', { git: { branch: 'dev' } }, 'spec.git.branch is immutable'],
    ['bare', { git: { directory: 'apps' } }, 'spec.git.directory is immutable'],
    ['bare', { git: { repo: 'https://example.org/a' } }, 'spec.git.repo is immutable'],
    ['full', { git: { directory: 'other' } }, 'spec.git.directory is immutable'],
    ['full', { git: { directory: null } }, 'spec.git.directory is immutable'],
    ['full', { git: { branch: null } }, 'spec.git.branch is immutable'],
    ['full', { git: null }, 'spec.git.branch is immutable'],
  ]
  for (const [name, spec, message] of refusals)
    await expect(stage.client.patch(RepositoryKind, `team-a/${name}`, { merge: { spec } as never })).rejects.toThrow(
      message,
    )
  await stage.client.patch(RepositoryKind, 'team-a/bare', { merge: { spec: { git: { branch: 'main' } } } })
})

test('the deletion of a namespace deletes nothing from a remote repository', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  await stage.create('blueprints', 'web', 'two', { type: 'edit', edit: { sourceRef: { name: 'blueprints.web.one' } } })
  const before = refsOf(remote)
  expect(before).toEqual(['refs/heads/drafts/web/two', 'refs/heads/main', 'refs/tags/web/v1'])
  await stage.client.delete(Namespace, 'team-a')
  await eventually(async () => expect(await stage.client.find(Namespace, 'team-a')).toBeUndefined())
  expect(refsOf(remote)).toEqual(before)
})

test('refuses what the lifecycle does not allow, with the words of Porch', async () => {
  await stage.register('blueprints')
  await stage.create('blueprints', 'web', 'one')
  const name = 'blueprints.web.one'
  await expect(stage.setLifecycle(name, 'Published', { approval: true })).rejects.toMatchObject({
    status: {
      code: 422,
      message: expect.stringContaining('only Proposed packages can be approved') as string,
    },
  })
  await stage.setLifecycle(name, 'Proposed')
  await expect(stage.setLifecycle(name, 'Published')).rejects.toMatchObject({ status: { code: 422 } })
  await expect(stage.save(name, (files) => void (files['x.yaml'] = configMap('x')))).rejects.toMatchObject({
    status: { code: 400, message: expect.stringContaining('package must be Draft') as string },
  })
  await stage.setLifecycle(name, 'Published', { approval: true })
  await expect(stage.client.delete(PackageRevisionKind, `team-a/${name}`)).rejects.toMatchObject({
    status: {
      code: 403,
      message: `packagerevisions.porch.kpt.dev "${name}" is forbidden: published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion`,
    },
  })
})

test('rpkg propose names the readiness gates that are not met', async () => {
  await stage.register('blueprints')
  const { metadata } = await stage.create('blueprints', 'web', 'one')
  const gates = 'info:\n  readinessGates:\n    - conditionType: example.org/reviewed\n'
  await stage.save(metadata.name!, (files) => {
    files['Kptfile'] = files['Kptfile']!.replace('info:\n', gates)
  })
  const errors: string[] = []
  const code = await runLifecycle('propose', {
    arguments: { revisions: [metadata.name!] },
    options: { namespace: 'team-a' },
    stdin: () => Promise.resolve(''),
    out: () => undefined,
    err: (line: string) => void errors.push(line),
    client: () => Promise.resolve(stage.client),
    signal: new AbortController().signal,
  })
  expect([code, errors.join('\n')]).toEqual([
    1,
    expect.stringContaining('readiness conditions not met: example.org/reviewed') as string,
  ])
  expect((await stage.revision(metadata.name!)).spec.lifecycle).toBe('Draft')
})

test('refuses an update that is based on an older version with a conflict', async () => {
  await stage.register('blueprints')
  await stage.create('blueprints', 'web', 'one')
  const old = await stage.resources('blueprints.web.one')
  await stage.save('blueprints.web.one', (files) => void (files['x.yaml'] = configMap('x')))
  const late = { ...old, spec: { ...old.spec, resources: { ...old.spec.resources, 'y.yaml': configMap('y') } } }
  await expect(stage.client.update(late)).rejects.toMatchObject({ status: { code: 409, reason: 'Conflict' } })
  expect(Object.keys((await stage.resources('blueprints.web.one')).spec.resources)).toContain('x.yaml')
})

test('refuses to delete a revision that others were made from, with their names', async () => {
  await stage.register('blueprints')
  await stage.register('edge')
  await stage.publish('blueprints', 'web', 'one')
  const clone = { type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'blueprints.web.one' } } } }
  const made = await stage.create('edge', 'shop', 'one', clone)
  expect(made.status?.upstreamLock?.git).toMatchObject({ directory: 'web', ref: 'web/v1' })
  expect(await stage.relations(made)).toEqual([
    'refers-to edge.shop.one -> edge',
    'upstream-of blueprints.web.one -> edge.shop.one',
  ])
  expect(await stage.relations(await stage.revision('blueprints.web.one'))).toEqual([
    'refers-to blueprints.web.one -> blueprints',
    'upstream-of blueprints.web.one -> edge.shop.one',
  ])
  expect(await stage.relations(await stage.client.get(RepositoryKind, 'team-a/edge'))).toEqual([
    'refers-to edge.shop.one -> edge',
  ])
  await stage.setLifecycle('blueprints.web.one', 'DeletionProposed')
  await expect(stage.client.delete(PackageRevisionKind, 'team-a/blueprints.web.one')).rejects.toMatchObject({
    status: {
      code: 403,
      message: expect.stringContaining('it is referenced as upstream by: edge.shop.one') as string,
    },
  })
})

test('keeps labels, annotations and finalizers of a published revision, and its latest label out of reach', async () => {
  await stage.register('blueprints')
  await stage.publish('blueprints', 'web', 'one')
  const merge = { metadata: { labels: { team: 'a' }, annotations: { note: 'x' } } }
  await stage.client.patch(PackageRevisionKind, 'team-a/blueprints.web.one', { merge })
  await stage.stopCapability()
  await stage.startCapability()
  expect((await stage.revision('blueprints.web.one')).metadata).toMatchObject({
    labels: { team: 'a', 'kpt.dev/latest-revision': 'true' },
    annotations: { note: 'x' },
  })
  const lie = { metadata: { labels: { 'kpt.dev/latest-revision': 'false' } } }
  await expect(
    stage.client.patch(PackageRevisionKind, 'team-a/blueprints.web.one', { merge: lie }),
  ).rejects.toMatchObject({ status: { code: 422 } })
})

test('numbers revisions, moves the latest label, and notifies watches of both', async () => {
  await stage.register('blueprints')
  await stage.publish('blueprints', 'web', 'one')
  const events: string[] = []
  const watching = (async () => {
    for await (const change of stage.client.watch(PackageRevisionKind, { namespace: 'team-a' })) {
      if (!('object' in change)) continue
      const { type, object } = change
      const isLatest = object.metadata.labels?.['kpt.dev/latest-revision'] ?? '-'
      events.push(`${type} ${object.metadata.name} ${object.spec.revision ?? 0} ${isLatest}`)
      if (object.metadata.name === 'blueprints.web.two' && isLatest === 'true') return
    }
  })()
  await stage.publish('blueprints', 'web', 'two', {
    type: 'edit',
    edit: { sourceRef: { name: 'blueprints.web.one' } },
  })
  await watching
  expect(events).toContain('changed blueprints.web.one 1 -')
  expect(events.at(-1)).toBe('changed blueprints.web.two 2 true')
})

test('notifies of packages whose newest revision has changed, and of no others', async () => {
  await stage.register('blueprints')
  await stage.create('blueprints', 'other', 'one')
  const packageKind = kind<PorchPackage>('porch.kpt.dev/v1alpha1', 'PorchPackage', {
    plural: 'packages',
    namespaced: true,
  })
  const events: string[] = []
  const { promise: isWatching, resolve: watches } = Promise.withResolvers<void>()
  const watching = (async () => {
    for await (const change of stage.client.watch(packageKind, { namespace: 'team-a' })) {
      if (!('object' in change)) continue
      const { type, object } = change
      events.push(`${type} ${object.metadata.name} ${object.status?.latestRevision}`)
      watches()
      if (type === 'removed') return
    }
  })()
  await isWatching
  await stage.publish('blueprints', 'web', 'one')
  await stage.client.delete(PackageRevisionKind, 'team-a/blueprints.other.one')
  await watching
  expect(events).toEqual([
    'added blueprints.other 0',
    'added blueprints.web 0',
    'changed blueprints.web 1',
    'removed blueprints.other 0',
  ])
})

test('notifies of a new lifecycle and new labels as one change', async () => {
  await stage.register('blueprints')
  const draft = await stage.create('blueprints', 'web', 'one')
  const labels = { team: 'a' }
  const events: unknown[] = []
  const { promise: isWatching, resolve: watches } = Promise.withResolvers<void>()
  const watching = (async () => {
    for await (const change of stage.client.watch(PackageRevisionKind, { namespace: 'team-a' })) {
      if (!('object' in change)) continue
      const { type, object } = change
      events.push([type, object.spec.lifecycle, object.metadata.labels])
      watches()
      if (type === 'removed') return
    }
  })()
  await isWatching
  const metadata = { ...draft.metadata, labels }
  await stage.client.update({ ...draft, metadata, spec: { ...draft.spec, lifecycle: 'Proposed' } })
  await stage.client.delete(PackageRevisionKind, 'team-a/blueprints.web.one')
  await watching
  expect(events).toEqual([
    ['added', 'Draft', undefined],
    ['changed', 'Proposed', labels],
    ['removed', 'Proposed', labels],
  ])
})

test('selects revisions by field', async () => {
  await stage.register('blueprints')
  await stage.publish('blueprints', 'web', 'one')
  await stage.create('blueprints', 'shop', 'one')
  const find = async (fieldSelector: string): Promise<unknown> =>
    (await stage.client.list(PackageRevisionKind, { namespace: 'team-a', fieldSelector })).items
      .map(({ metadata }) => metadata.name)
      .sort()
  expect(await find('spec.lifecycle=Draft')).toEqual(['blueprints.shop.one'])
  expect(await find('spec.packageName=web,spec.revision=1')).toEqual(['blueprints.web.one'])
  expect(await find('spec.revision=-1')).toEqual(['blueprints.web.main'])
})

test('makes a tag name one published revision after the other, for users with a right of its own', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  const edit = { type: 'edit', edit: { sourceRef: { name: 'blueprints.web.one' } } }
  await stage.publish('blueprints', 'web', 'two', edit)
  await stage.create('blueprints', 'web', 'three', edit)
  const tag = async (name: string, value: string, client = stage.client): Promise<void> => {
    const code = await run({
      arguments: { revision: name, tag: value },
      options: { namespace: 'team-a' },
      stdin: () => Promise.resolve(''),
      out: () => undefined,
      err: () => undefined,
      client: () => Promise.resolve(client),
      signal: new AbortController().signal,
    })
    expect(code).toBe(0)
  }
  await tag('blueprints.web.one', 'stable')
  expect(git(remote, 'rev-parse', 'web/stable')).toBe(git(remote, 'rev-parse', 'web/v1'))
  await tag('blueprints.web.two', 'stable')
  await tag('blueprints.web.two', 'stable')
  expect(git(remote, 'rev-parse', 'web/stable')).toBe(git(remote, 'rev-parse', 'web/v2'))
  expect((await stage.revision('blueprints.web.stable')).status?.selfLock?.git).toMatchObject({ ref: 'web/stable' })
  await expect(tag('blueprints.web.three', 'stable')).rejects.toMatchObject({ status: { code: 403 } })
  await expect(tag('blueprints.web.one', 'v7')).rejects.toMatchObject({ status: { code: 422 } })
  await expect(tag('blueprints.web.one', '../x')).rejects.toMatchObject({ status: { code: 422 } })
  const rules = [{ apiGroups: ['porch.kpt.dev'], resources: ['packagerevisions'], verbs: ['*'] }]
  await stage.grant('writer', rules, 'eve', 'team-a')
  const eve = stage.server.client({ as: { name: 'eve', groups: ['system:authenticated'] } })
  await expect(tag('blueprints.web.one', 'stable', eve)).rejects.toMatchObject({ status: { code: 403 } })
})

test('deletes a revision whose tag is annotated', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  git(remote, 'tag', '-a', '-f', '-m', 'Release', 'web/v1', 'web/v1')
  await stage.server.inject({
    method: 'POST',
    path: '/webhooks/git/team-a/blueprints',
    user: { name: 'admin', groups: ['system:masters'] },
  })
  await stage.setLifecycle('blueprints.web.one', 'DeletionProposed', { approval: true })
  await eventually(() => stage.client.delete(PackageRevisionKind, 'team-a/blueprints.web.one'))
  expect(refsOf(remote)).toEqual(['refs/heads/main'])
})
