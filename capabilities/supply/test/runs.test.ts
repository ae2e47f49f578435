// Objects that are replaced instead of updated: immutable lifecycles and Runnables.
import type { KubeObject } from '@fairlead/kube'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Stage, conditionsOf, runnable, supplyChain, template, thing, workloadOf } from './stage.ts'
import type { Thing } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await Stage.set()
})
afterEach(() => stage[Symbol.asyncDispose]())

const succeeded = (status: string, message = ''): object => ({ conditions: [{ type: 'Succeeded', status, message }] })
const revisions = async (): Promise<unknown[]> =>
  (await stage.things()).map(({ spec }) => spec?.['revision']).toSorted()
const runOf = async (revision: string): Promise<Thing> =>
  (await stage.things()).find(({ spec }) => spec?.['revision'] === revision)!
const runAppears = (count: number): Promise<void> =>
  stage.until(async () => (await stage.things()).length === count, `there are ${count} runs`)

describe('an immutable lifecycle', () => {
  beforeEach(async () => {
    await stage.apply(
      template('ClusterImageTemplate', 'test', {
        lifecycle: 'tekton',
        retentionPolicy: { maxFailedRuns: 1, maxSuccessfulRuns: 2 },
        imagePath: '.spec.revision',
        template: { ...thing, metadata: { generateName: 'test-' }, spec: { revision: '$(params.revision)$' } },
      }),
      supplyChain('test', 'test', [{ name: 'test', templateRef: { kind: 'ClusterImageTemplate', name: 'test' } }]),
    )
    await want('1')
    await runAppears(1)
  })

  async function want(revision: string): Promise<void> {
    await stage.apply(workloadOf('app', 'test', { params: [{ name: 'revision', value: revision }] }))
  }
  const previews = (owner: {
    status?: { resources?: readonly { outputs?: readonly { preview: string }[] }[] }
  }): (string | undefined)[] | undefined => owner.status?.resources?.[0]?.outputs?.map(({ preview }) => preview.trim())

  test('creates an object per change, takes outputs from the newest healthy one, and reports the health of the last', async () => {
    const waiting = await stage.owner('team-a/app', (owner) => conditionsOf(owner)['Ready']?.[0] === 'Unknown')
    expect(conditionsOf(waiting)['ResourcesSubmitted']).toEqual([
      'Unknown',
      'MissingValueAtPath',
      'waiting for outputs: the object is not healthy yet',
    ])
    await stage.setStatus(`team-a/${(await runOf('1')).metadata.name}`, succeeded('True', 'done'))
    expect(previews(await stage.ready('team-a/app', 'True'))).toEqual(['"1"'])
    await want('2')
    await runAppears(2)
    const second = await stage.owner('team-a/app', (owner) => conditionsOf(owner)['Ready']?.[0] === 'Unknown')
    expect(previews(second)).toEqual(['"1"'])
    expect(conditionsOf(second)['ResourcesHealthy']?.[2]).toBe(
      'resource [test]: condition with type [Succeeded] not found on resource status',
    )
    await stage.setStatus(`team-a/${(await runOf('2')).metadata.name}`, succeeded('True'))
    expect(previews(await stage.ready('team-a/app', 'True'))).toEqual(['"2"'])
  })

  test('names the path that a healthy object lacks', async () => {
    await stage.apply(
      template('ClusterSourceTemplate', 'paths', {
        lifecycle: 'tekton',
        urlPath: '.spec.url',
        revisionPath: '.status.tested',
        template: { ...thing, metadata: { generateName: 'paths-' }, spec: { url: 'here' } },
      }),
      supplyChain('paths', 'paths', [{ name: 'paths', templateRef: { kind: 'ClusterSourceTemplate', name: 'paths' } }]),
      workloadOf('paths', 'paths'),
    )
    await runAppears(2)
    const { metadata } = (await stage.things()).find(({ spec }) => spec?.['url'] === 'here')!
    await stage.setStatus(`team-a/${metadata.name}`, succeeded('True'))
    const message = `cannot read value [.status.tested] from healthy object [things.test.run/${metadata.name}] in namespace [team-a], contact Platform Eng`
    await stage.owner('team-a/paths', (owner) => conditionsOf(owner)['ResourcesSubmitted']?.[2] === message)
  })

  test('prunes the runs of an earlier kind of the template', async () => {
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
    const testTemplate = (count: number, of: object): KubeObject =>
      template('ClusterTemplate', 'kinds', {
        lifecycle: 'immutable',
        retentionPolicy: { maxFailedRuns: 1, maxSuccessfulRuns: 1 },
        healthRule: { alwaysHealthy: {} },
        template: { ...of, metadata: { generateName: 'kinds-', annotations: { count: String(count) } } } as never,
      })
    await stage.apply(
      testTemplate(1, thing),
      supplyChain('kinds', 'kinds', [{ name: 'kinds', templateRef: { kind: 'ClusterTemplate', name: 'kinds' } }]),
      workloadOf('kinds', 'kinds'),
    )
    await runAppears(2)
    await stage.apply(testTemplate(2, configMap))
    await stage.until(async () => (await stage.things()).length === 1, 'the Thing is pruned')
    const { items } = await stage.client.list(configMap, {
      namespace: 'team-a',
      labelSelector: 'carto.run/resource-name',
    })
    expect(items).toHaveLength(1)
  })

  test('creates nothing when the blueprint is renamed', async () => {
    await stage.apply(
      supplyChain('renamed', 'test', [{ name: 'test', templateRef: { kind: 'ClusterImageTemplate', name: 'test' } }]),
    )
    await stage.client.delete({ apiVersion: 'carto.run/v1alpha1', kind: 'ClusterSupplyChain' }, 'test')
    await stage.owner('team-a/app', ({ status }) => status?.supplyChainRef?.name === 'renamed')
    await stage.settle()
    expect(await revisions()).toEqual(['1'])
  })

  test('creates nothing after a restart, and a new object when an earlier spec returns', async () => {
    await stage.settle()
    await stage.stopControllers()
    await stage.startControllers()
    await stage.settle()
    expect(await revisions()).toEqual(['1'])
    await want('2')
    await runAppears(2)
    await want('1')
    await runAppears(3)
    expect(await revisions()).toEqual(['1', '1', '2'])
  })

  test('keeps as many failed and as many successful runs as the retention policy allows', async () => {
    for (const revision of ['1', '2', '3', '4', '5']) {
      await want(revision)
      await stage.until(async () => (await runOf(revision)) !== undefined, `revision ${revision} is run`)
      await stage.setStatus(
        `team-a/${(await runOf(revision)).metadata.name}`,
        succeeded(revision === '2' || revision === '4' ? 'False' : 'True'),
      )
      await stage.settle()
    }
    await runAppears(3)
    expect(await revisions()).toEqual(['3', '4', '5'])
  })
})

describe('an object that is updated under a generated name', () => {
  test('keeps the name that was generated first', async () => {
    await stage.apply(
      template('ClusterTemplate', 'named', {
        template: { ...thing, metadata: { generateName: 'named-' }, spec: { revision: '$(params.revision)$' } },
      }),
      supplyChain('named', 'named', [{ name: 'named', templateRef: { kind: 'ClusterTemplate', name: 'named' } }]),
    )
    for (const revision of ['1', '2', '3']) {
      await stage.apply(workloadOf('app', 'named', { params: [{ name: 'revision', value: revision }] }))
      await stage.until(async () => (await runOf(revision)) !== undefined, `revision ${revision} is there`)
    }
    await stage.settle()
    expect(await revisions()).toEqual(['3'])
  })
})

describe('a Runnable', () => {
  const runTemplate = (outputs: Record<string, string>): KubeObject =>
    ({
      apiVersion: 'carto.run/v1alpha1',
      kind: 'ClusterRunTemplate',
      metadata: { name: 'run' },
      spec: {
        outputs,
        template: {
          ...thing,
          metadata: { generateName: 'run-' },
          spec: { revision: '$(runnable.spec.inputs.revision)$' },
        },
      },
    }) as never
  const withRevision = (revision: string): KubeObject =>
    ({
      ...runnable,
      metadata: { name: 'run', namespace: 'team-a' },
      spec: { runTemplateRef: { name: 'run' }, serviceAccountName: 'builder', inputs: { revision } },
    }) as never

  test('may leave out what its template refers to', async () => {
    const { spec, ...template_ } = runTemplate({}) as KubeObject & { spec: { template: object } }
    const unset = { account: '$(runnable.spec.serviceAccountName)$', inputs: '$(runnable.spec.inputs)$' }
    await stage.apply(
      { ...template_, spec: { ...spec, template: { ...spec.template, spec: unset } } } as never,
      {
        ...runnable,
        metadata: { name: 'run', namespace: 'team-a' },
        spec: { runTemplateRef: { name: 'run' }, serviceAccountName: 'builder' },
      } as never,
    )
    await runAppears(1)
    expect((await stage.things()).map((run) => run.spec)).toEqual([{ account: 'builder', inputs: null }])
  })

  test('creates a run per change, and reports the outputs of the newest that succeeded', async () => {
    await stage.apply(withRevision('1'))
    await stage.client.waitFor(
      runnable,
      'team-a/run',
      (object) => conditionsOf(object as never)['Ready']?.[1] === 'RunTemplateNotFound',
    )
    await stage.apply(runTemplate({ revision: '.spec.revision' }))
    await runAppears(1)
    await stage.setStatus(`team-a/${(await runOf('1')).metadata.name}`, succeeded('True', 'fine'))
    const first = await stage.client.waitFor(
      runnable,
      'team-a/run',
      (object) => conditionsOf(object as never)['Ready']?.[0] === 'True',
    )
    expect(conditionsOf(first as never)).toEqual({
      RunTemplateReady: ['True', 'Ready', ''],
      StampedObjectCondition: ['True', 'SucceededCondition', 'fine'],
      Ready: ['True', 'Ready', ''],
    })
    expect((first.status as { outputs: unknown }).outputs).toEqual({ revision: '1' })
    await stage.apply(withRevision('2'))
    await runAppears(2)
    const second = await stage.client.waitFor(
      runnable,
      'team-a/run',
      (object) => conditionsOf(object as never)['Ready']?.[0] === 'Unknown',
    )
    expect((second.status as { outputs: unknown }).outputs).toEqual({ revision: '1' })
    await stage.setStatus(`team-a/${(await runOf('2')).metadata.name}`, succeeded('True'))
    await stage.client.waitFor(
      runnable,
      'team-a/run',
      (object) => (object.status as { outputs?: { revision?: string } }).outputs?.revision === '2',
    )
  })
})
