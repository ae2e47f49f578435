// The cost of a MapController grows with its parents, inputs, outputs and related objects, not with their square: plans
// in steps that V8 counts.
import { stringifyJson } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSteadyGrowth, growsTooFast, stepsOf } from '../../../test/growth/expect-growth.ts'
import { manyOf } from '../../../test/growth/growing-schema.ts'
import { StepCounter } from '../../../test/growth/step-counter.ts'
import { runCommand } from './run-command.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

const parentsKind = { apiVersion: 'test.dev/v1', resource: 'mirrors' }
const one = `[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": input.metadata.name + "-copy"}}]`
const controller = (spec: JsonObject, map: JsonObject = { expression: one }): KubeObject => ({
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'MapController',
  metadata: { name: 'mirror', uid: 'controller-uid' },
  spec: {
    parentResource: parentsKind,
    inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
    outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }],
    hooks: { map },
    ...spec,
  },
})
const parent = (name: string, selector: JsonObject = {}, namespace = 'a'): KubeObject => ({
  apiVersion: 'test.dev/v1',
  kind: 'Mirror',
  metadata: { name, namespace, uid: `uid-${name}` },
  spec: { selector },
})
const input = (name: string, metadata: JsonObject = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'a', uid: `uid-of-${name}`, ...metadata },
})
const pairs = (size: number): Record<string, string> => Object.fromEntries(manyOf(size).map((at) => [`k${at}`, 'v']))
const inputs = (size: number): readonly KubeObject[] => manyOf(size).map((at) => input(`i${at}`))
/** An output for each key of the input's data. */
const ofKeys = 'input.data.map(key, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": key}})'
const sameName = ofKeys.replace('"name": key', '"name": "same"')
const inputWith = (size: number): KubeObject => ({ ...input('i'), data: pairs(size) }) as KubeObject

async function render(...objects: readonly KubeObject[]): Promise<string> {
  const items = { apiVersion: 'v1', kind: 'List', items: objects as never }
  const { out } = await runCommand('render', {
    options: { filename: ['-'], hook: undefined, resolve: [], output: 'text' },
    stdin: stringifyJson(items),
  })
  return out
}

/** Outputs that this controller has made, as a plan states them. */
async function outputsOf(...objects: readonly KubeObject[]): Promise<readonly KubeObject[]> {
  const { out } = await runCommand('render', {
    options: { filename: ['-'], hook: undefined, resolve: [], output: 'json' },
    stdin: stringifyJson({ apiVersion: 'v1', kind: 'List', items: objects as never }),
  })
  interface Plans {
    readonly actions?: readonly { readonly configuration?: KubeObject }[]
    readonly parts?: readonly Plans[]
  }
  const madeIn = ({ actions = [], parts = [] }: Plans): readonly KubeObject[] => [
    ...actions.flatMap(({ configuration }) => configuration ?? []),
    ...parts.flatMap(madeIn),
  ]
  const { plans } = JSON.parse(out) as { readonly plans: readonly Plans[] }
  return plans.flatMap(madeIn).map((object) => {
    const { name = '' } = object.metadata
    return { ...object, metadata: { ...object.metadata, uid: `uid-of-${name}` } }
  })
}

const shapes: Readonly<Record<string, (size: number) => Promise<unknown>>> = {
  inputs: (size) => render(controller({}), parent('p'), ...inputs(size)),
  'inputs that nothing selects': (size) =>
    render(controller({}), parent('p', { matchLabels: { app: 'none' } }), ...inputs(size)),
  parents: (size) => render(controller({}), ...manyOf(size).map((at) => parent(`p${at}`)), input('i')),
  'parents of namespaces': (size) =>
    render(
      controller({}),
      ...manyOf(size).flatMap((at) => [parent(`p${at}`, {}, `n${at}`), input(`i${at}`, { namespace: `n${at}` })]),
    ),
  'labels of an input': (size) => render(controller({}), parent('p'), input('i', { labels: pairs(size) })),
  'labels of a selector': (size) =>
    render(controller({}), parent('p', { matchLabels: pairs(size) }), input('i', { labels: pairs(size) })),
  'requirements of a selector': (size) =>
    render(
      controller({}),
      parent('p', { matchExpressions: manyOf(size).map((at) => ({ key: `k${at}`, operator: 'DoesNotExist' })) }),
      input('i'),
    ),
  'values of a requirement': (size) =>
    render(
      controller({}),
      parent('p', { matchExpressions: [{ key: 'k', operator: 'NotIn', values: Object.keys(pairs(size)) }] }),
      input('i', { labels: { k: 'v' } }),
    ),
  'owners of an input': (size) =>
    render(
      controller({}),
      parent('p'),
      input('i', {
        ownerReferences: manyOf(size).map((at) => ({ apiVersion: 'v1', kind: 'K', name: `o${at}`, uid: `u${at}` })),
      }),
    ),
  'outputs of a response': (size) => render(controller({}, { expression: ofKeys }), parent('p'), inputWith(size)),
  'outputs of one name': (size) => render(controller({}, { expression: sameName }), parent('p'), inputWith(size)),
  'outputs that are there': async (size) => {
    const objects = [controller({}, { expression: ofKeys }), parent('p'), inputWith(size)]
    await render(...objects, ...(await outputsOf(...objects)))
  },
  'outputs that nothing wants any more': async (size) => {
    const made = await outputsOf(controller({}, { expression: ofKeys }), parent('p'), inputWith(size))
    await render(controller({}, { expression: '[]' }), parent('p'), input('i'), ...made)
  },
  'groups whose input is gone': async (size) => {
    const made = await outputsOf(controller({}), parent('p'), ...inputs(size))
    await render(controller({}), parent('p'), ...made)
  },
  'objects that others made': (size) =>
    render(
      controller({}),
      parent('p'),
      input('i'),
      ...manyOf(size).map((at) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: `x${at}`, namespace: 'a' } })),
    ),
  'related objects': (size) =>
    render(
      controller({}, { expression: one, relatedResources: [{ apiVersion: 'v1', resource: 'secrets' }] }),
      parent('p'),
      input('i'),
      ...manyOf(size).map((at) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: `x${at}`, namespace: 'a' } })),
    ),
  'names of related objects': (size) =>
    render(
      controller(
        {},
        {
          expression: one,
          relatedResources: [{ apiVersion: 'v1', resource: 'secrets', names: manyOf(size).map((at) => `x${at}`) }],
        },
      ),
      parent('p'),
      input('i'),
      ...manyOf(size).map((at) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: `x${at}`, namespace: 'a' } })),
    ),
  'namespaces of a controller': (size) =>
    render(controller({ namespaces: ['a', ...manyOf(size).map((at) => `n${at}`)] }), parent('p'), input('i')),
  'data of an input': (size) => render(controller({}), parent('p'), inputWith(size)),
  'data of an output': (size) =>
    render(
      controller(
        {},
        {
          expression: '[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": input.data}]',
        },
      ),
      parent('p'),
      inputWith(size),
    ),
  'field paths of an input': (size) =>
    render(
      controller({
        inputResources: [
          { apiVersion: 'v1', resource: 'configmaps', fieldPaths: manyOf(size).map((at) => `data.k${at}`) },
        ],
      }),
      parent('p'),
      inputWith(size),
    ),
  'characters of an expression': (size) =>
    render(controller({}, { expression: `${one}${' '.repeat(size)}` }), parent('p'), input('i')),
}

test('a plan of these tests has outputs, and finds those of a former plan', async () => {
  const objects = [controller({}), parent('p'), ...inputs(3)]
  const made = await outputsOf(...objects)
  expect(made.map(({ metadata }) => metadata.name)).toEqual(['i0-copy', 'i1-copy', 'i2-copy'])
  const plan = await render(...objects, ...made)
  expect(plan.match(/(create|update) +Secret/g)).toEqual(manyOf(3).map(() => 'update  Secret'))
})

test.each(Object.entries(shapes))(
  'costs grow with the size of what a MapController sees, not faster: %s',
  async (_, run) => {
    await expectSteadyGrowth(counter, run, 100)
  },
)

test('quadratic work would be seen', async () => {
  const square = async (size: number): Promise<void> => {
    for (let at = 0; at < size / 20; at++) await render(controller({}), parent('p'), ...inputs(size / 4))
  }
  expect(growsTooFast(await stepsOf(counter, square, 100))).toBe(true)
})
