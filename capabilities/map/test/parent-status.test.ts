// The status of parents on an embedded server.
import type { ApiServer } from '@fairlead/apiserver'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { conditionOf, controller, input, policies, policy, set, stage, startStage, useHook } from './copies.ts'

useHook()

describe('the status of a parent', () => {
  const revisionsOf = (of: ApiServer): number[] => {
    const revisions: number[] = []
    of.store.watchAll(
      ({ entry }) => void (entry.resource === 'policies.test.example.com' && revisions.push(entry.revision)),
    )
    return revisions
  }

  test('is written at most once a second while counts change, and not at all when nothing changed', async () => {
    await set({}, controller(), policy())
    const written = revisionsOf(stage.server)
    for (let index = 0; index < 20; index++) {
      await stage.apply(input(`i${index}`))
      await stage.pass(0.1)
    }
    await stage.pass(2)
    expect(written.length).toBeGreaterThanOrEqual(2)
    expect(written.length).toBeLessThanOrEqual(4)
    written.length = 0
    await stage.apply(input('i0', { changed: 'yes' }))
    await stage.pass(5)
    expect(written).toEqual([])
  })

  test('keeps status fields of other managers', async () => {
    await set({}, controller(), policy(), input('a'))
    await stage.client.patch(policy(), 'default/all', { merge: { status: { theirs: 1 } } }, { subresource: 'status' })
    await stage.apply(input('b'))
    await stage.pass(3)
    const { status } = await stage.client.get(policy(), 'default/all')
    expect(status).toMatchObject({
      theirs: 1,
      inputs: { configmaps: { total: 2 } },
      outputs: { secrets: { total: 2 } },
    })
  })

  test('is given up with Ready NoStatus when the schema drops its fields', async () => {
    await startStage()
    const strict = structuredClone(policies) as KubeObject & { spec: { versions: { schema: object }[] } }
    strict.spec.versions[0]!.schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          status: { type: 'object' },
        },
      },
    }
    await stage.apply(strict)
    await stage.pass(1)
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(3)
    expect(await conditionOf('Ready')).toEqual({
      status: 'True',
      reason: 'NoStatus',
      message: expect.stringContaining('drops status.inputs'),
    })
  })
})
