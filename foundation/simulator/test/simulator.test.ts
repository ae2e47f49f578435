import { ApiServer } from '@fairlead/apiserver'
import { Client, Deployment, KubeEvent, kind } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { RulesError, Simulator, parseRules } from '@fairlead/simulator'
import { describe, expect, test } from 'vitest'

const Autoscaler = kind<KubeObject & { readonly status?: JsonObject }>('autoscaling/v2', 'HorizontalPodAutoscaler')

interface Setup extends AsyncDisposable {
  readonly client: Client
  readonly clock: FakeClock
}

async function start(rules: string): Promise<Setup> {
  const server = await ApiServer.start({ controllers: ['crd'] })
  const clock = new FakeClock('2026-03-01T10:00:00Z')
  const client = new Client({ transport: server.client().transport, clock, random: () => 0 })
  const manager = await Manager.start({ client, clock, setup: (of) => new Simulator(parseRules(rules)).setup(of) })
  return {
    client: server.client(),
    clock,
    [Symbol.asyncDispose]: async () => {
      await manager.stop()
      await server[Symbol.asyncDispose]()
    },
  }
}

function deployment(name: string, labels: Record<string, string> = {}): Deployment {
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'a', image: 'a' }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default', labels },
    spec: { replicas: 2, selector: { matchLabels: { app: name } }, template },
  }
}

/** Turns of the event loop in which everything that is due settles, while the clock stands still. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const status = async (client: Client, name: string): Promise<unknown> =>
  (await client.get(Deployment, `default/${name}`)).status

describe('the simulator', () => {
  test('sets the status of matching objects after the delay, with fields of the object and conditions', async () => {
    await using run = await start(`
- apiVersion: apps/v1
  kind: Deployment
  selector: sim=yes
  delay: 2s
  status:
    readyReplicas: $(.spec.replicas)
    replicas: $(.spec.replicas)
    observedGeneration: $(.metadata.generation)
  conditions:
  - {type: Available, status: true, reason: Simulated, message: "$(.metadata.name) is up since $(now)"}
`)
    await run.client.create(deployment('in', { sim: 'yes' }))
    await run.client.create(deployment('out'))
    await settled()
    await run.clock.advance(1999)
    await settled()
    expect(await status(run.client, 'in')).toEqual({})
    await run.clock.advance(1)
    await settled()
    const condition = {
      type: 'Available',
      status: 'True',
      reason: 'Simulated',
      message: 'in is up since 2026-03-01T10:00:02Z',
      lastTransitionTime: '2026-03-01T10:00:02Z',
    }
    expect(await status(run.client, 'in')).toMatchObject({
      readyReplicas: 2,
      replicas: 2,
      observedGeneration: 1,
      conditions: [condition],
    })
    expect(await status(run.client, 'out')).toEqual({})
    await run.clock.advance(60_000)
    await run.client.patch(Deployment, 'default/in', { merge: { spec: { replicas: 3 } } })
    await settled()
    await run.clock.advance(2000)
    await settled()
    expect(await status(run.client, 'in')).toMatchObject({
      readyReplicas: 3,
      observedGeneration: 2,
      conditions: [{ lastTransitionTime: '2026-03-01T10:00:02Z' }],
    })
  })

  test('rules apply in order, a time alone changes nothing, and a change that is undone is made again', async () => {
    await using run = await start(`
- {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, delay: 1s, status: {lastScaleTime: "$(now)", currentReplicas: 1, desiredReplicas: 1}}
`)
    await run.client.create({
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'a', namespace: 'default' },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }, maxReplicas: 3 },
    })
    const pass = async (ms: number): Promise<KubeObject & { readonly status?: JsonObject }> => {
      await settled()
      await run.clock.advance(ms)
      await settled()
      return run.client.get(Autoscaler, 'default/a')
    }
    const first = await pass(1000)
    expect(first.status).toMatchObject({ lastScaleTime: '2026-03-01T10:00:01Z', currentReplicas: 1 })
    expect((await pass(60_000)).metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    const undone = { merge: { status: { currentReplicas: 2 } } }
    await run.client.patch(Autoscaler, 'default/a', undone, { subresource: 'status' })
    expect((await pass(1000)).status).toMatchObject({ currentReplicas: 1 })
  })

  test('guards order phases; a guard on a missing field is false', async () => {
    await using run = await start(`
- {apiVersion: apps/v1, kind: Deployment, when: "!has(self.status.replicas)", delay: 1s, status: {replicas: 1}}
- {apiVersion: apps/v1, kind: Deployment, when: "self.status.replicas == 1 && self.spec.replicas > 1", delay: 2s, status: {replicas: 2, readyReplicas: 2}}
`)
    await run.client.create(deployment('a'))
    const seen: unknown[] = []
    for (const ms of [1000, 1999, 1]) {
      await settled()
      await run.clock.advance(ms)
      await settled()
      const { replicas, readyReplicas } = (await run.client.get(Deployment, 'default/a')).status ?? {}
      seen.push([replicas, readyReplicas])
    }
    expect(seen).toEqual([
      [1, undefined],
      [1, undefined],
      [2, 2],
    ])
  })

  test('rules that undo each other are reported', async () => {
    await using run = await start(`
- {name: up, apiVersion: apps/v1, kind: Deployment, status: {replicas: 1}}
- {name: down, apiVersion: apps/v1, kind: Deployment, status: {replicas: 2}}
`)
    await run.client.create(deployment('a'))
    const events = run.client.watch(KubeEvent)
    for await (const change of events) {
      if (change.type !== 'added') continue
      expect([change.object.reason, change.object.note]).toEqual([
        'RulesFlap',
        'The rules "up", "down" undo each other; give them guards (when) that exclude each other',
      ])
      break
    }
  })

  test('settles where the server leaves an empty message or a count of zero out', async () => {
    await using run = await start(`
- apiVersion: apps/v1
  kind: Deployment
  status: {replicas: 1, unavailableReplicas: 0}
  conditions:
  - {type: Available, status: true, reason: Simulated}
`)
    await run.client.create(deployment('web'))
    await settled()
    expect(await status(run.client, 'web')).toMatchObject({ replicas: 1, conditions: [{ type: 'Available' }] })
    expect((await run.client.list(KubeEvent)).items).toEqual([])
  })

  test('leaves terminating objects unchanged', async () => {
    await using run = await start('- {apiVersion: apps/v1, kind: Deployment, delay: 1s, status: {replicas: 7}}\n')
    await run.client.create({
      ...deployment('a'),
      metadata: { ...deployment('a').metadata, finalizers: ['example.com/x'] },
    })
    await run.client.delete(Deployment, 'default/a')
    await settled()
    await run.clock.advance(10_000)
    await settled()
    expect(await status(run.client, 'a')).toEqual({})
  })

  test('a rule for a kind that is not served yet starts when its definition is created', async () => {
    await using run = await start('- {apiVersion: example.com/v1, kind: Widget, status: {phase: Ready}}\n')
    const Widget = kind('example.com/v1', 'Widget')
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: { status: { type: 'object', properties: { phase: { type: 'string' } } } },
      },
    }
    await run.client.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
        versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema }],
      },
    } as KubeObject)
    await run.client.waitFor(
      kind('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
      'widgets.example.com',
      (crd) => JSON.stringify(crd.status ?? {}).includes('Established'),
    )
    await settled()
    await run.client.create({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a', namespace: 'default' },
    })
    await run.client.waitFor(
      Widget,
      'default/a',
      (widget) => (widget.status as { phase?: string } | undefined)?.phase === 'Ready',
    )
  })
})

describe('reading rules', () => {
  test('accepts every form of a rule', () => {
    const rules = parseRules(`
- name: all of it
  apiVersion: v1
  kind: Pod
  namespace: team
  selector: {matchLabels: {a: b}}
  delay: 1m30s
  status: {phase: Running}
- apiVersion: v1
  kind: Pod
  selector: a!=b
  conditions:
  - {type: Ready, status: "False"}
`)
    expect(
      rules.map(({ name, namespace, selector, delay, status, conditions }) => [
        name,
        namespace,
        selector.toString(),
        delay,
        status !== undefined,
        conditions.map((one) => [one.type, one.status, one.reason]),
      ]),
    ).toEqual([
      ['all of it', 'team', 'a=b', 90_000, true, []],
      ['Pod #2', undefined, 'a!=b', 0, false, [['Ready', 'False', 'Ready']]],
    ])
    expect(parseRules('# nothing yet\n')).toEqual([])
  })

  test.each<[string, string]>([
    ['kind: Pod', 'rules.yaml:1: rules must be a list; begin each rule with "- "'],
    ['- a: [', 'rules.yaml:1: yaml: '],
    ['- just text', 'rules.yaml:1: a rule must be a map with apiVersion and kind'],
    ['\n- apiVersion: v1\n  status: {}', 'rules.yaml:2: a rule needs kind'],
    ['- apiVersion: v1\n  kind: Pod', 'rules.yaml:1: a rule needs status or conditions to set'],
    [
      '- apiVersion: v1\n  kind: Pod\n  status: {}\n- apiVersion: v1\n  kind: Pod\n  delay: soon\n  status: {}',
      'rules.yaml:6: delay must be a duration such as 500ms, 2s or 1m30s, not "soon"',
    ],
    [
      '- apiVersion: v1\n  kind: Pod\n  delay: 5\n  status: {}',
      'rules.yaml:3: delay must be a duration such as 500ms, 2s or 1m30s, not 5',
    ],
    ['- apiVersion: v1\n  kind: Pod\n  delay: -5s\n  status: {}', 'rules.yaml:3: delay cannot be negative'],
    [
      '- apiVersion: v1\n  kind: Pod\n  selektor: a\n  status: {}',
      'rules.yaml:3: a rule has no field "selektor"; it has name, apiVersion, kind, namespace, selector, when, delay, status, conditions',
    ],
    ['- apiVersion: v1\n  kind: Pod\n  selector: "!!"\n  status: {}', 'rules.yaml:3: selector: '],
    ['- apiVersion: v1\n  kind: Pod\n  status: ready', 'rules.yaml:3: status must be a map'],
    [
      '- apiVersion: v1\n  kind: Pod\n  status: {a: $(later)}',
      'rules.yaml:3: status: $(later) is unknown; use $(now) or a path such as $(.metadata.name)',
    ],
    [
      '- apiVersion: v1\n  kind: Pod\n  conditions: [{type: Ready, status: maybe}]',
      'rules.yaml:3: the status of condition Ready must be True, False or Unknown, not "maybe"',
    ],
    ['- apiVersion: v1\n  kind: Pod\n  when: self.x ==\n  status: {}', 'rules.yaml:3: when: '],
    [
      '- apiVersion: v1\n  kind: Pod\n  when: 1 + 1\n  status: {}',
      "rules.yaml:3: when: expected type 'bool' but found 'int' (column 3 of the expression)",
    ],
    ['- {apiVersion: v1, kind: 7, status: {}}', 'rules.yaml:1: kind must be a string, not 7'],
  ])('%j', (text, message) => {
    const failure = ((): unknown => {
      try {
        return parseRules(text)
      } catch (error) {
        return error
      }
    })()
    expect(failure).toBeInstanceOf(RulesError)
    expect((failure as RulesError).message.startsWith(message) ? message : (failure as RulesError).message).toBe(
      message,
    )
  })
})
