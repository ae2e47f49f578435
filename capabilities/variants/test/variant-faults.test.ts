// Variants while the server is killed, and while a repository refuses pushes: the end state is that of an undisturbed
// run.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { connect } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { findCondition } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import { PackageVariantKind } from '@fairlead/variants'
import { UpProcess } from '../../../test/faults/up-process.ts'
import { eventually } from '../../../test/support/until.ts'
import { git } from '../../packages/test/stage.ts'
import { VariantStage } from './stage.ts'

/** Number of variants of the kill; `npm run test:long` sets 200. */
const count = Number(process.env['FAIRLEAD_VARIANTS'] ?? 8)
const namespace = 'default'

const processes: UpProcess[] = []
const folders: string[] = []
afterEach(async () => {
  for (const one of processes.splice(0)) await one.kill()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function start(data: string): Promise<{ readonly up: UpProcess; readonly client: Client }> {
  const up = await UpProcess.start(data, ['--only', 'packages,variants'])
  processes.push(up)
  return { up, client: await connect({ file: up.kubeconfig }) }
}

async function prepare(client: Client): Promise<void> {
  for (const name of ['catalog', 'edge']) {
    const { apiVersion, kind } = RepositoryKind
    await client.create({ apiVersion, kind, metadata: { name, namespace }, spec: { type: 'git' } } as KubeObject)
    await client.waitFor(
      RepositoryKind,
      { namespace, name },
      ({ status }) => findCondition(status?.conditions ?? [], 'Ready')?.status === 'True',
    )
  }
  const { apiVersion, kind } = PackageRevisionKind
  const spec = { repository: 'catalog', packageName: 'web', workspaceName: 'v1' }
  const created = await client.create({ apiVersion, kind, metadata: { namespace }, spec } as KubeObject & {
    readonly spec: object
  })
  const proposed = await client.update({ ...created, spec: { ...created.spec, lifecycle: 'Proposed' } })
  await client.update({ ...proposed, spec: { ...proposed.spec, lifecycle: 'Published' } }, { subresource: 'approval' })
}

function variant(index: number): KubeObject {
  const { apiVersion, kind } = PackageVariantKind
  return {
    apiVersion,
    kind,
    metadata: { name: `web-${index}`, namespace },
    spec: {
      upstream: { repo: 'catalog', package: 'web' },
      downstream: { repo: 'edge', package: `web-${index}` },
      packageContext: { data: { site: `s${index}` } },
    },
  } as KubeObject
}

async function drafts(client: Client): Promise<readonly string[]> {
  const { items } = await client.list(PackageRevisionKind, { namespace })
  return items
    .filter(({ spec }) => spec.repository === 'edge' && spec.revision !== -1)
    .map(({ metadata }) => metadata.name!)
    .sort()
}

test('a server that is killed in the middle of a fan-out makes one draft for each variant in the end', async () => {
  const data = mkdtempSync(join(tmpdir(), 'fairlead-variants-kill-'))
  folders.push(data)
  const first = await start(data)
  await prepare(first.client)
  for (let index = 0; index < count; index++) await first.client.create(variant(index))
  await eventually(async () => expect((await drafts(first.client)).length).toBeGreaterThan(count / 4))
  await first.up.kill()
  const second = await start(data)
  await eventually(async () => {
    const { items } = await second.client.list(PackageVariantKind, { namespace })
    const ready = items.filter(
      ({ status }) => findCondition((status?.conditions ?? []) as never, 'Ready')?.reason === 'NoErrors',
    )
    expect(ready).toHaveLength(count)
  }, 200)
  const wanted = Array.from({ length: count }, (_, index) => `edge.web-${index}.packagevariant-1`).sort()
  expect(await drafts(second.client)).toEqual(wanted)
})

test('a repository that refuses pushes gets every draft once it accepts them', async () => {
  await using stage = await VariantStage.start()
  const bare = stage.packages.bareRepository('remote')
  await stage.packages.register('remote', { repo: bare })
  await stage.publish('web', 'v1', {
    'settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n',
  })
  git(bare, 'config', 'receive.hideRefs', 'refs/heads')
  for (const name of ['one', 'two']) await stage.apply(name, { downstream: { repo: 'remote', package: name } })
  for (const name of ['one', 'two']) await stage.ready(name, 'Error')
  expect(git(bare, 'for-each-ref').trim()).toBe('')
  git(bare, 'config', '--unset', 'receive.hideRefs')
  for (const name of ['one', 'two']) await stage.ready(name)
  expect(git(bare, 'for-each-ref', '--format=%(refname)').trim().split('\n')).toEqual([
    'refs/heads/drafts/one/packagevariant-1',
    'refs/heads/drafts/two/packagevariant-1',
  ])
})
