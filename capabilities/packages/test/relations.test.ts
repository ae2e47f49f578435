// The states of package revisions in the graph of derived objects: drafts wait for people.
import type { ObjectState } from '@fairlead/controller'
import { packages } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { expect, test } from 'vitest'
import { Stage } from './stage.ts'

async function stateOf(revision: PackageRevision): Promise<ObjectState | undefined> {
  const { stateOf: state } = await packages.relations!().then(({ stateOf: of }) => ({ stateOf: of! }))
  return state(revision)
}

test('a revision waits to be proposed and approved, and its deletion for approval, with the commands', async () => {
  await using stage = await Stage.start()
  await stage.register('blueprints')
  const name = 'blueprints.web.one'
  const at = `${name} -n team-a`
  const states = [await stateOf(await stage.create('blueprints', 'web', 'one'))]
  states.push(await stateOf(await stage.setLifecycle(name, 'Proposed')))
  states.push(await stateOf(await stage.setLifecycle(name, 'Published', { approval: true })))
  states.push(await stateOf(await stage.setLifecycle(name, 'DeletionProposed')))
  expect(states).toEqual([
    {
      state: 'Waiting',
      reason: 'Draft',
      message: 'it is a draft that was not proposed yet',
      next: `fairlead rpkg propose ${at}`,
    },
    { state: 'Waiting', reason: 'Proposed', message: 'it waits for approval', next: `fairlead rpkg approve ${at}` },
    { state: 'Ready', reason: 'Published', message: '' },
    {
      state: 'Waiting',
      reason: 'DeletionProposed',
      message: 'its deletion waits for approval',
      next: `fairlead rpkg delete ${at}, or keep it: fairlead rpkg reject ${at}`,
    },
  ])
})

test('a draft whose readiness gate is not met is not ready, with the message of the gate', async () => {
  await using stage = await Stage.start()
  await stage.register('blueprints')
  const draft = await stage.create('blueprints', 'web', 'one')
  const gated = {
    ...draft,
    spec: { ...draft.spec, readinessGates: [{ conditionType: 'example.org/reviewed' }] },
    status: { conditions: [{ type: 'example.org/reviewed', status: 'False', message: 'ask the team' }] },
  }
  expect(await stateOf(gated)).toEqual({
    state: 'NotReady',
    reason: 'GatesNotMet',
    message: 'its readiness gate example.org/reviewed is not met: ask the team',
  })
})

test('a Repository refers to the Secret of its credentials', async () => {
  await using stage = await Stage.start()
  const repository = await stage.register('private', {
    repo: 'https://localhost:1/x.git',
    secretRef: { name: 'token' },
  })
  expect(await stage.relations(repository)).toEqual(['refers-to private -> token'])
})
