// What is unknown: nothing is deleted, answered as missing or opened on the strength of a cache that is not complete.
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import { Disturbance } from '../../../test/support/disturbed-transport.ts'
import { eventually, turns } from '../../../test/support/until.ts'
import { refsOf, Stage } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await Stage.start()
})
afterEach(() => stage[Symbol.asyncDispose]())

const managed = (): string => join(stage.folder, 'data', 'managed', 'team-a')

test.each(['repositories.config.porch.kpt.dev', 'namespaces'])(
  'answers a delete with 503 and deletes nothing while the cache of %s is not complete',
  async (resource) => {
    await stage.register('blueprints')
    await stage.create('blueprints', 'web', 'one')
    const refs = refsOf(join(managed(), 'blueprints.git'))
    await stage.stopCapability()
    const disturbance = new Disturbance()
    await stage.startCapability(disturbance)
    await stage.revision('blueprints.web.one')
    disturbance.refusesStreaming = true
    disturbance.begin(`list ${resource}`, 403)
    disturbance.interrupt(`list ${resource}`)
    await eventually(() =>
      expect(
        stage.client.delete(PackageRevisionKind, 'team-a/blueprints.web.one', { dryRun: true }),
      ).rejects.toMatchObject({ status: { code: 503 } }),
    )
    await expect(stage.client.delete(PackageRevisionKind, 'team-a/blueprints.web.one')).rejects.toMatchObject({
      status: { code: 503 },
    })
    disturbance.heal()
    expect(refsOf(join(managed(), 'blueprints.git'))).toEqual(refs)
  },
)

test('opens no repository after it was stopped', async () => {
  await stage.stopCapability()
  for (let index = 0; index < 8; index++)
    await stage.client.create({
      apiVersion: 'config.porch.kpt.dev/v1alpha1',
      kind: 'Repository',
      metadata: { name: `blueprints-${index}`, namespace: 'team-a' },
      spec: { type: 'git', git: {} },
    } as never)
  await stage.startCapability()
  await eventually(() => expect(existsSync(managed())).toBe(true), 1)
  await stage.stopInstance()
  const opened = readdirSync(managed())
  await turns()
  const { items } = await stage.client.list(RepositoryKind, { namespace: 'team-a' })
  expect(items.flatMap(({ status }) => status?.conditions ?? []).filter(({ status }) => status === 'False')).toEqual([])
  expect(gitProcesses(stage.folder)).toEqual([])
  expect(readdirSync(managed())).toEqual(opened)
})

/** Returns the git processes that work in a folder; none where the system does not list processes. */
function gitProcesses(folder: string): readonly string[] {
  if (!existsSync('/proc/self/cwd')) return []
  return readdirSync('/proc').filter((id) => /^\d+$/.test(id) && workingFolder(id).startsWith(folder))
}

function workingFolder(process: string): string {
  try {
    return readlinkSync(`/proc/${process}/cwd`)
  } catch {
    return ''
  }
}
