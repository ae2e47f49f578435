// Large responses of hooks: read and planned in steps, between which the process serves others.
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { JsonSyntaxError, parseJson } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { DynamicApply, dynamicApply } from '../src/children/apply-strategy.ts'
import { planChildren, planChildrenInSteps } from '../src/children/child-plan.ts'
import type { Child, ChildKind } from '../src/children/child.ts'
import { parseResponse } from '../src/hook/response-parser.ts'

const KiB = 1024
/** Larger than what is parsed at once. */
const padding = { pad: [{ filler: '{[",'.repeat(100 * KiB) }] }

/** Counts the turns of the event loop until something is done. */
async function turnsDuring<T>(run: () => Promise<T>): Promise<{ readonly value: T; readonly turns: number }> {
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const value = await run().finally(() => (isDone = true))
  return { value, turns }
}

property.prop([fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), fc.boolean()])(
  'a large response has the same value as when it is parsed at once',
  async (fields, isIndented) => {
    const text = JSON.stringify({ ...fields, ...padding }, undefined, isIndented ? 1 : undefined)
    expect((await parseResponse(text)).value).toEqual(parseJson(text))
  },
)

test.each([
  ['{"children":[{"a":1,"b":{"c":1,"c":2}}],', ['children[0].b.c']],
  ['{"children":[{"a":1}],"children":[{"a":1,"a":2},{"b":3}],', ['children', 'children[0].a']],
])('fields that come twice in a large response are reported with their path: %s', async (start, duplicates) => {
  const text = start + JSON.stringify(padding).slice(1)
  expect(await parseResponse(text)).toEqual({ value: parseJson(text), duplicates })
})

test.each(['{"a":[{]],', '{"a":[{"b":1}{"b":2}],', '{"a":[1{"b":1}],', '{"a":[{"b":tru}],', '{"a":{"b":[1,],'])(
  'a large response with an error of syntax is refused: %s',
  async (start) => {
    const text = start + JSON.stringify(padding).slice(1)
    await expect(parseResponse(text)).rejects.toThrow(JsonSyntaxError)
    await expect(parseResponse(text.slice(0, -4))).rejects.toThrow(JsonSyntaxError)
  },
)

test('a response with an object that no server takes is refused', async () => {
  const huge = 'x'.repeat(3 * KiB * KiB)
  await expect(parseResponse(JSON.stringify({ outputs: [{}, { huge }] }))).rejects.toThrow(
    'The response is too large: outputs[1] has more than 3 MiB',
  )
  await expect(parseResponse(JSON.stringify({ status: { huge } }))).rejects.toThrow('what it has beside its objects')
})

test('no more than some hundred KiB of a response are read between two turns of the event loop', async () => {
  const children = Array.from({ length: 8 * KiB }, (_, at) => ({ name: `c${at}`, data: { text: 'x'.repeat(KiB) } }))
  const text = JSON.stringify({ children })
  const { value, turns } = await turnsDuring(() => parseResponse(text))
  expect((value.value as { children: JsonValue[] }).children.length).toBe(children.length)
  // Once while it is split, once while its objects are parsed.
  expect(turns).toBeGreaterThanOrEqual((2 * text.length) / (300 * KiB))
})

test('a plan for many children is made in steps, and is that of one step', async () => {
  const kind: ChildKind = {
    apiVersion: 'v1',
    group: '',
    kind: 'ConfigMap',
    plural: 'configmaps',
    namespaced: true,
    method: 'InPlace',
  }
  const parent = {
    apiVersion: 'v1',
    kind: 'Fleet',
    metadata: { name: 'north', namespace: 'a', uid: 'u' },
  } as KubeObject
  const child = (at: number, flag: string): Child => ({
    kind,
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `c${at}`, namespace: 'a' },
      data: { flag },
    } as KubeObject,
  })
  const observed = Array.from({ length: 200 }, (_, at) => child(at, at % 2 === 0 ? 'red' : 'blue'))
  const desired = Array.from({ length: 200 }, (_, at) => child(at + 50, 'blue'))
  const { value, turns } = await turnsDuring(() => planChildrenInSteps(parent, observed, desired, dynamicApply))
  expect(value).toEqual(planChildren(parent, observed, desired, dynamicApply))
  expect(turns).toBeGreaterThanOrEqual(6)
  // Children that are known to be as desired are not compared.
  const compared: string[] = []
  const counting = new (class extends DynamicApply {
    override updated(...[of, before, after]: Parameters<DynamicApply['updated']>): KubeObject {
      compared.push(before.metadata.name ?? '')
      return super.updated(of, before, after)
    }
  })()
  const [changed, ...unchanged] = desired.map(({ object }) => ({ ...object, metadata: { ...object.metadata } }))
  const all = [changed!, ...unchanged].map((object) => ({ kind, object }))
  const plan = await planChildrenInSteps(parent, all, desired, counting, new Set(unchanged))
  expect(compared).toEqual([changed!.metadata.name])
  expect(plan.map(({ op }) => op)).toEqual(['update', ...unchanged.map(() => 'keep')])
})
