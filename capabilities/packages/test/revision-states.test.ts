// The state of revisions beside git, in PackageRev objects: it is made before its revision, and goes after it.
import { kind } from '@fairlead/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import { eventually } from '../../../test/support/until.ts'
import { RevisionStates } from '../src/runtime/revision-states.ts'
import { git, Stage } from './stage.ts'

const PackageRevKind = kind('config.porch.kpt.dev/v1alpha1', 'PackageRev', { plural: 'packagerevs', namespaced: true })

let stage: Stage
beforeEach(async () => {
  stage = await Stage.start(['team-a', 'team-b'])
})
afterEach(() => stage[Symbol.asyncDispose]())

async function states(): Promise<readonly string[]> {
  const { items } = await stage.client.list(PackageRevKind)
  return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()
}

const metadata = { labels: { team: 'a' } }

test('removes the state of a revision that two reads after each other lack, and of no other', async () => {
  const kept = new RevisionStates(stage.client)
  await kept.load()
  const all = ['team-a/a.web.one', 'team-a/a.web.two', 'team-a/ab.web.one', 'team-b/a.web.one']
  for (const [namespace, name] of all.map((key) => key.split('/'))) await kept.set(namespace!, name!, { metadata })
  const repository = { namespace: 'team-a', repository: 'a' }
  const both = new Map([
    ['a.web.one', 1],
    ['a.web.two', 1],
  ])
  const one = new Map([['a.web.one', 1]])
  for (const revisions of [one, both, one]) await kept.prune(repository, revisions)
  expect(await states()).toEqual(all)
  {
    using _creation = kept.keep('team-a', 'a.web.two')
    for (const revisions of [one, one]) await kept.prune(repository, revisions)
    expect(await states()).toEqual(all)
  }
  for (const revisions of [one, one]) await kept.prune(repository, revisions)
  expect(await states()).toEqual(all.filter((key) => key !== 'team-a/a.web.two'))
  // It may be created again.
  await kept.set('team-a', 'a.web.two', { metadata })
  await kept.prune(repository, one)
  expect(await states()).toEqual(all)
})

test('forgets the labels of a draft that others deleted by a push', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  await stage.create('blueprints', 'web', 'one', undefined, { metadata })
  await stage.create('blueprints', 'shop', 'one', undefined, { metadata })
  const commit = git(remote, 'rev-parse', 'drafts/web/one').trim()
  git(remote, 'update-ref', '-d', 'refs/heads/drafts/web/one')
  let reads = 0
  const readAgain = (): Promise<unknown> =>
    stage.client.patch(RepositoryKind, 'team-a/blueprints', {
      merge: { metadata: { annotations: { read: String(reads++) } } },
    })
  await eventually(async () => {
    await readAgain()
    expect(await states()).toEqual(['team-a/blueprints.shop.one'])
  })
  git(remote, 'update-ref', 'refs/heads/drafts/web/one', commit)
  await eventually(async () => {
    await readAgain()
    expect((await stage.revision('blueprints.web.one')).metadata.labels).toBeUndefined()
  })
  expect((await stage.revision('blueprints.shop.one')).metadata.labels).toEqual(metadata.labels)
})

test('gives a repository that is registered anew under a name no labels of the former one', async () => {
  const [first, second] = [stage.bareRepository('first'), stage.bareRepository('second')]
  await stage.register('blueprints', { repo: first })
  await stage.create('blueprints', 'web', 'one', undefined, { metadata })
  await stage.register('other')
  await stage.create('other', 'web', 'one', undefined, { metadata })
  git(second, 'fetch', '--quiet', first, 'refs/heads/*:refs/heads/*')
  const { uid } = (await stage.client.get(RepositoryKind, 'team-a/blueprints')).metadata
  await stage.client.delete(RepositoryKind, 'team-a/blueprints', { preconditions: { uid } })
  await eventually(async () =>
    expect(await stage.client.find(RepositoryKind, { namespace: 'team-a', name: 'blueprints' })).toBeUndefined(),
  )
  expect(await states()).toEqual(['team-a/other.web.one'])
  await stage.register('blueprints', { repo: second })
  expect((await stage.revision('blueprints.web.one')).metadata.labels).toBeUndefined()
})

test('creates one of two revisions that exclude each other', async () => {
  const remote = stage.bareRepository('remote')
  await stage.register('blueprints', { repo: remote })
  const outcomes = async (...pairs: readonly (readonly [string, string])[]): Promise<readonly unknown[]> => {
    const created = pairs.map(([name, workspace]) =>
      stage.create('blueprints', name, workspace, undefined, { metadata: { labels: { workspace } } }),
    )
    const settled = await Promise.allSettled(created)
    return settled.map((one) =>
      one.status === 'fulfilled' ? 'created' : (one.reason as { status: { code: number } }).status.code,
    )
  }
  expect((await outcomes(['web', 'one'], ['web', 'two'])).toSorted()).toEqual([409, 'created'])
  expect((await outcomes(['net', 'a'], ['net/dns', 'a'], ['net/dns/zone', 'a'])).toSorted()).toEqual([
    400,
    400,
    'created',
  ])
  const { items } = await stage.client.list(PackageRevisionKind, { namespace: 'team-a' })
  expect(items.map(({ metadata: made, spec }) => made.labels?.['workspace'] === spec.workspaceName)).toEqual([
    true,
    true,
  ])
  expect((await states()).length).toBe(2)
})
