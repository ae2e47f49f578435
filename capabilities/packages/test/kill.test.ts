// SIGKILL of the server in the middle of publishes: the repository is sound, and nothing that was acknowledged is lost.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { launcher } from '../../../test/support/launcher.ts'
import { connect } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { git, refsOf } from './stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'fairlead-kill-'))
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Number of publishes; `npm run test:long` sets 200. */
const publishes = Number(process.env['FAIRLEAD_PUBLISHES'] ?? 6)

async function startServer(): Promise<{ readonly child: ChildProcess; readonly client: Client }> {
  const data = join(folder, 'data')
  const args = [launcher, 'up', '--only', 'packages', '--port', '0', '--data', data]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr!.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  children.push(child)
  let isReady = false
  for await (const line of createInterface({ input: child.stdout! })) {
    isReady = line.includes('Fairlead is ready')
    if (isReady) break
  }
  if (!isReady) throw new Error(`The server did not start: ${errors}`)
  return { child, client: await connect({ file: join(data, 'kubeconfig') }) }
}

async function publish(client: Client, packageName: string): Promise<void> {
  const created = await client.create<PackageRevision>({
    apiVersion: 'porch.kpt.dev/v1alpha1',
    kind: 'PackageRevision',
    metadata: { namespace: 'default' },
    spec: { repository: 'blueprints', packageName, workspaceName: 'one' },
  })
  const proposed = await client.update({ ...created, spec: { ...created.spec, lifecycle: 'Proposed' } })
  await client.update({ ...proposed, spec: { ...proposed.spec, lifecycle: 'Published' } }, { subresource: 'approval' })
}

test('loses no acknowledged publish when the server is killed between others', async () => {
  const first = await startServer()
  await first.client.create({
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'Repository',
    metadata: { name: 'blueprints', namespace: 'default' },
    spec: { type: 'git' },
  } as never)
  await first.client.waitFor(
    RepositoryKind,
    'default/blueprints',
    (object) => object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
  )
  const acknowledged: string[] = []
  const begun = Array.from({ length: publishes }, async (_, index) => {
    await publish(first.client, `web-${index}`)
    acknowledged.push(`web-${index}`)
    if (acknowledged.length === Math.ceil(publishes / 3)) first.child.kill('SIGKILL')
  })
  const exited = once(first.child, 'exit')
  const failed = (await Promise.allSettled(begun)).filter((one) => one.status === 'rejected')
  // Without an acknowledged publish, why none succeeded says more than that the server was not killed.
  expect(acknowledged, String(failed[0]?.reason)).not.toEqual([])
  await exited
  const repository = join(folder, 'data', 'packages', 'managed', 'default', 'blueprints.git')
  git(repository, 'fsck', '--full', '--strict')
  const tags = refsOf(repository).filter((ref) => ref.startsWith('refs/tags/'))
  expect(tags).toEqual(expect.arrayContaining(acknowledged.map((name) => `refs/tags/${name}/v1`)))
  expect(acknowledged.length).toBeLessThan(publishes)

  const second = await startServer()
  await second.client.waitFor(RepositoryKind, 'default/blueprints', (object) => object !== undefined)
  const { items } = await second.client.list(PackageRevisionKind, { namespace: 'default' })
  const published = items.filter(({ spec }) => spec.lifecycle === 'Published' && Number(spec.revision) > 0)
  expect(published.map(({ spec }) => spec.packageName)).toEqual(expect.arrayContaining(acknowledged))
  await publish(second.client, 'after')
})
