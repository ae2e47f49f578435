// Git that hangs, refuses, was force-pushed or is damaged: the status says so, no revision is lost, and other
// repositories are served as before.
import { readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import { eventually } from '../../../test/support/until.ts'
import { conditionOf, git, refsOf, Stage } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await Stage.start()
})
afterEach(() => stage[Symbol.asyncDispose]())

async function names(): Promise<readonly string[]> {
  const { items } = await stage.client.list(PackageRevisionKind, { namespace: 'team-a' })
  return items.map(({ metadata }) => metadata.name!).sort()
}

async function readAgain(name: string): Promise<void> {
  const runOnceAt = `${new Date(stage.client.clock.now()).toISOString().slice(0, 19)}Z`
  await stage.client.patch(RepositoryKind, `team-a/${name}`, { merge: { spec: { sync: { runOnceAt } } } })
}

/** Removes every object of a repository on disk, and leaves its refs. */
function damage(folder: string): void {
  for (const entry of readdirSync(join(folder, 'objects')))
    rmSync(join(folder, 'objects', entry), { recursive: true, force: true })
}

test('reports a remote that refuses connections, and serves the others', async () => {
  await stage.register('good')
  const refused = await stage.register('bad', { repo: 'http://127.0.0.1:1/x.git' })
  expect(conditionOf(refused)?.slice(0, 2)).toEqual(['False', 'Unreachable'])
  await stage.create('good', 'web', 'one')
  expect(await names()).toEqual(['good.web.one'])
  await expect(stage.create('bad', 'web', 'one')).rejects.toMatchObject({ status: { code: 503 } })
})

test('serves other repositories while a remote hangs', async () => {
  const server = createServer(() => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const connected = new Promise((resolve) => server.once('connection', resolve))
  await stage.client.create({
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'Repository',
    metadata: { name: 'slow', namespace: 'team-a' },
    spec: { type: 'git', git: { repo: `http://127.0.0.1:${port}/x.git` } },
  } as never)
  await connected
  await stage.register('good')
  await stage.create('good', 'web', 'one')
  expect(await names()).toEqual(['good.web.one'])
  server.close()
})

test('keeps its revisions and says so when a remote vanishes, and after a restart', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  const before = await names()
  rmSync(remote, { recursive: true })
  await readAgain('blueprints')
  const seen = await stage.repository('blueprints', (object) => conditionOf(object)?.[0] === 'False')
  expect(conditionOf(seen)?.[1]).toBe('RepositoryNotFound')
  expect(await names()).toEqual(before)
  await stage.stopCapability()
  await stage.startCapability()
  expect(await names()).toEqual(before)
})

test('answers no list as complete when a repository that was read before cannot be read', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  await stage.stopCapability()
  rmSync(join(stage.folder, 'data'), { recursive: true })
  rmSync(remote, { recursive: true })
  await stage.startCapability()
  await expect(names()).rejects.toMatchObject({ status: { code: 503 } })
})

test('reports a damaged remote and keeps its revisions', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  const before = await names()
  const clone = join(stage.folder, 'clone')
  git(stage.folder, 'clone', '--quiet', remote, clone)
  git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'more')
  git(clone, 'push', '--quiet')
  damage(remote)
  await readAgain('blueprints')
  const seen = await stage.repository('blueprints', (object) => conditionOf(object)?.[0] === 'False')
  expect(conditionOf(seen)?.[2]).not.toBe('')
  expect(await names()).toEqual(before)
})

test('keeps published revisions when their branch is force-pushed, and reports it', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  const clone = join(stage.folder, 'clone')
  git(stage.folder, 'clone', '--quiet', remote, clone)
  git(clone, 'checkout', '--quiet', '--orphan', 'other')
  git(clone, 'rm', '-rfq', '.')
  git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'start again')
  git(clone, 'push', '--quiet', '--force', 'origin', 'other:main')
  await readAgain('blueprints')
  await eventually(async () => expect(await names()).toEqual(['blueprints.web.one']))
  await eventually(async () => {
    const { items } = await stage.client.list(
      { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
      { namespace: 'team-a' },
    )
    expect(items.map((event) => (event as { reason?: string }).reason)).toContain('BranchRewritten')
  })
  await stage.publish('blueprints', 'web', 'two', {
    type: 'edit',
    edit: { sourceRef: { name: 'blueprints.web.one' } },
  })
  expect(refsOf(remote)).toEqual(['refs/heads/main', 'refs/tags/web/v1', 'refs/tags/web/v2'])
})

test('reads on when others replace a branch by one below it', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  const labels = { team: 'a' }
  await stage.create('blueprints', 'shop', 'one', undefined, { metadata: { labels } })
  const commit = git(remote, 'rev-parse', 'drafts/shop/one').trim()
  git(remote, 'update-ref', 'refs/heads/drafts/net/dns', 'main')
  git(remote, 'update-ref', 'refs/tags/net/dns/v1', 'main')
  git(remote, 'update-ref', 'refs/heads/drafts/shop/two', commit)
  await readAgain('blueprints')
  await eventually(async () => expect(await names()).toContain('blueprints.shop.two'))
  git(remote, 'update-ref', '-d', 'refs/heads/drafts/net/dns')
  git(remote, 'update-ref', '-d', 'refs/tags/net/dns/v1')
  git(remote, 'update-ref', 'refs/tags/net/dns', 'main')
  git(remote, 'update-ref', 'refs/heads/drafts/net/dns/two', commit)
  git(remote, 'update-ref', 'refs/heads/drafts/shop/three', commit)
  await stage.client.patch(RepositoryKind, 'team-a/blueprints', {
    merge: { metadata: { annotations: { read: 'again' } } },
  })
  await eventually(async () =>
    expect(await names()).toEqual([
      'blueprints.shop.one',
      'blueprints.shop.three',
      'blueprints.shop.two',
      'blueprints.web.main',
      'blueprints.web.one',
    ]),
  )
  const after = await stage.repository('blueprints', ({ status }) => status?.packageCount === 5)
  expect(conditionOf(after)?.[1]).toBe('Ready')
  expect((await stage.revision('blueprints.shop.one')).metadata.labels).toEqual(labels)
  await stage.setLifecycle('blueprints.shop.one', 'Proposed')
  await stage.setLifecycle('blueprints.shop.one', 'Published', { approval: true })
  expect(refsOf(remote)).toContain('refs/tags/shop/v1')
})

test('publishes onto a branch that others have moved', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.publish('blueprints', 'web', 'one')
  await stage.create('blueprints', 'shop', 'one')
  await stage.setLifecycle('blueprints.shop.one', 'Proposed')
  const clone = join(stage.folder, 'clone')
  git(stage.folder, 'clone', '--quiet', remote, clone)
  git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'theirs')
  git(clone, 'push', '--quiet')
  await stage.setLifecycle('blueprints.shop.one', 'Published', { approval: true })
  expect(git(remote, 'log', '-3', '--format=%s', '--first-parent', 'main').trim().split('\n')).toEqual([
    'Approving package revision shop/1',
    'theirs',
    'Approving package revision web/1',
  ])
})

test('keeps the labels of a revision as they were when its remote refuses the change', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  const draft = await stage.create('blueprints', 'web', 'one', undefined, { metadata: { labels: { team: 'a' } } })
  git(remote, 'config', 'receive.denyDeletes', 'true')
  const wanted = { ...draft, metadata: { ...draft.metadata, labels: { team: 'b' } } }
  const proposed = { ...wanted, spec: { ...draft.spec, lifecycle: 'Proposed' as const } }
  await expect(stage.client.update(proposed)).rejects.toMatchObject({ status: { code: 403 } })
  const { metadata, spec } = await stage.revision('blueprints.web.one')
  expect([metadata.labels, spec.lifecycle]).toEqual([{ team: 'a' }, 'Draft'])
  git(remote, 'config', 'receive.denyDeletes', 'false')
  expect((await stage.client.update(proposed)).metadata.labels).toEqual({ team: 'b' })
})

test('starts without the right to read its states, says so, and serves no revision without its labels', async () => {
  await stage.register('blueprints')
  const labels = { team: 'a' }
  await stage.create('blueprints', 'web', 'one', undefined, { metadata: { labels } })
  await stage.stopCapability()
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }
  const { rules } = (await stage.client.get(role, 'packages')) as unknown as {
    rules: readonly { resources: string[] }[]
  }
  const others = rules.filter(({ resources }) => !resources.includes('packagerevs'))
  await stage.client.patch(role, 'packages', { merge: { rules: others } })
  await stage.startCapability()
  const seen = await stage.repository('blueprints', (object) => conditionOf(object)?.[1] === 'StateUnknown')
  expect(conditionOf(seen)?.[2]).toContain('cannot list resource "packagerevs"')
  await expect(names()).rejects.toMatchObject({ status: { code: 503 } })
  await stage.client.patch(role, 'packages', { merge: { rules } })
  await readAgain('blueprints')
  await eventually(async () => expect((await stage.revision('blueprints.web.one')).metadata.labels).toEqual(labels))
})

test('publishes many packages of one repository at a time', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  const packageNames = Array.from({ length: 4 }, (_, index) => `web-${index}`)
  await Promise.all(packageNames.map((name) => stage.publish('blueprints', name, 'one')))
  expect(refsOf(remote).filter((ref) => ref.startsWith('refs/tags/'))).toEqual(
    packageNames.map((name) => `refs/tags/${name}/v1`),
  )
  expect(git(remote, 'ls-tree', '--name-only', 'main').trim().split('\n')).toEqual(packageNames)
  git(remote, 'fsck', '--full')
})
