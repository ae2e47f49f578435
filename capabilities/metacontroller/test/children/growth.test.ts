// The cost of children, their lists, orphans and parents grows with their number, n log n at most, in steps that V8
// counts.
import { ApiServer, memory } from '@fairlead/apiserver'
import { InformerPool } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { controllerOf, selectorFrom } from '@fairlead/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectSteadyGrowth } from '../../../../test/growth/expect-growth.ts'
import { StepCounter } from '../../../../test/growth/step-counter.ts'
import { DynamicApply, ServerSideApply } from '../../src/children/apply-strategy.ts'
import { isAsWritten } from '../../src/children/as-written.ts'
import { planChildrenInSteps } from '../../src/children/child-plan.ts'
import type { Child, ChildKind } from '../../src/children/child.ts'
import { mergeApplied, withLastApplied } from '../../src/children/merge.ts'
import { compositeFlavour } from '../../src/composite/composite.ts'
import { decoratorFlavour } from '../../src/decorator/decorator.ts'
import { useKind } from '../../src/runtime/kind-cache.ts'
import type { Flavour } from '../../src/sync/flavour.ts'
import { AdoptingParents, indexOrphans, orphansFor } from '../../src/sync/orphans.ts'
import { SettledParents } from '../../src/sync/settled-parents.ts'

let counter: StepCounter
beforeAll(async () => void (counter = await StepCounter.start()))
afterAll(() => counter[Symbol.asyncDispose]())

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

/** Expects that steps grow no faster than n log n; the runs here are short, and so is what they do once. */
const expectSlowGrowth = (run: (size: number) => unknown): Promise<void> =>
  expectSteadyGrowth(counter, async (size) => run(size), 200, 5000)

const kind: ChildKind = {
  apiVersion: 'v1',
  group: '',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  method: 'InPlace',
}
const parentKind = {
  apiVersion: 'harbour.example.com/v1',
  group: 'harbour.example.com',
  kind: 'Fleet',
  plural: 'fleets',
  namespaced: true,
  ignoreStatusChanges: false,
  hasStatusSubresource: true,
}
const resource = { apiVersion: parentKind.apiVersion, resource: 'fleets' }
const parent: KubeObject = {
  apiVersion: parentKind.apiVersion,
  kind: 'Fleet',
  metadata: { name: 'north', namespace: 'default', uid: 'north' },
  spec: { selector: { matchLabels: { fleet: 'north' } } },
}
const controller = (spec: JsonObject): never =>
  ({ apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'x', metadata: { name: 'fleets' }, spec }) as never
const flavours: readonly (readonly [string, Flavour])[] = [
  ['CompositeController', compositeFlavour(controller({ parentResource: resource }), parentKind, [kind])],
  ['DecoratorController', decoratorFlavour(controller({ resources: [resource] }), [parentKind], [kind])],
]
const configMap = (at: number, data: JsonObject = {}, metadata: JsonObject = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `c-${at}`, namespace: 'default', labels: { fleet: 'north' }, ...metadata },
    data,
  }) as KubeObject
const childrenOf = (size: number, data?: JsonObject): Child[] =>
  times(size, (at) => ({ kind, object: configMap(at, data, { uid: `${at}`, resourceVersion: `${at}` }) }))

test.each(flavours)('the request, response and plan of a %s grow with the number of children', async (_, flavour) => {
  await expectSlowGrowth(async (size) => {
    const children = childrenOf(size)
    const candidates = { owned: children, orphans: childrenOf(size) }
    const claims = flavour.claim(parent, candidates)
    flavour.request({ controller: parent, parent, children, related: [], finalizing: false, version: 'v1' })
    const list = times(size, (at) => configMap(at, { k: 'changed' }))
    const value = { children: list, attachments: list } as unknown as JsonObject
    const read = { hook: 'sync', parent, strict: false } as const
    const response = flavour.readResponse({ value, duplicates: [] }, read)
    const desired = flavour.prepare(parent, response.children)
    for (const strategy of [new DynamicApply(), new ServerSideApply('m')])
      await planChildrenInSteps(parent, [...children, ...claims.adopt], desired, strategy)
  })
})

const ports = (size: number, more: object): JsonObject[] =>
  times(size, (at) => ({ name: `p-${at}`, ...more }) as JsonObject)
const elements = (size: number): JsonObject =>
  Object.fromEntries(times(size, (at) => [`k:{"name":"p-${at}"}`, { '.': {}, 'f:name': {}, 'f:value': {} }]))

/** A child whose lists the server stored in another form, with the fields of its writer and of another manager. */
function stored(
  desired: KubeObject,
  list: readonly JsonObject[],
  own: JsonObject,
  others: JsonObject = {},
): KubeObject {
  const { metadata } = withLastApplied(desired)
  const fields = (content: JsonObject): JsonObject => ({ 'f:spec': { 'f:list': content } })
  const managedFields = [
    { manager: 'metacontroller', operation: 'Update', fieldsV1: fields(own) },
    { manager: 'other', operation: 'Update', fieldsV1: fields(others) },
  ]
  return { ...desired, spec: { list }, metadata: { ...metadata, managedFields } } as unknown as KubeObject
}

test.each<readonly [string, (size: number) => readonly [KubeObject, KubeObject], boolean]>([
  [
    'by the keys that their owner recorded',
    (size) => {
      const desired = { ...configMap(0), spec: { list: ports(size, { value: '1000m' }) } } as KubeObject
      return [stored(desired, ports(size, { value: '1', protocol: 'TCP' }), elements(size)), desired]
    },
    true,
  ],
  [
    'by their values',
    (size) => {
      const desired = { ...configMap(0), spec: { list: times(size, (at) => `v-${at}`) } } as unknown as KubeObject
      const own = Object.fromEntries(times(size, (at) => [`v:"v-${at}"`, {}]))
      return [stored(desired, times(size, (at) => `w-${at}`) as never, own), desired]
    },
    true,
  ],
  [
    'by name, where another manager owns them',
    (size) => {
      const desired = { ...configMap(0), spec: { list: ports(size, { value: '1' }) } } as KubeObject
      const list = ports(size, { value: '1', protocol: 'TCP' }).toReversed()
      return [stored(desired, list, { '.': {}, 'k:{"name":"x"}': {} }, elements(size)), desired]
    },
    true,
  ],
])('the comparison of the items of a list grows with their number: %s', async (_, make, isSame) => {
  const [observed, desired] = make(20)
  expect(isAsWritten(observed, desired, 'metacontroller')).toBe(isSame)
  await expectSlowGrowth((size) => isAsWritten(...make(size), 'metacontroller'))
})

test('the merge of lists grows with the number of their items', async () => {
  await expectSlowGrowth((size) =>
    mergeApplied(
      { l: ports(size, { a: 1 }) },
      { l: ports(size / 2, { b: 1 }) },
      { l: ports(size, { c: 1 }).toReversed() },
    ),
  )
})

test('the decision about a call that shows nothing new grows with the number of children', async () => {
  await expectSlowGrowth((size) => {
    const settled = new SettledParents()
    const children = childrenOf(size).map(({ object }) => object)
    const at = (version: string, data: JsonObject): KubeObject[] =>
      children.map(
        (child) => ({ ...child, data, metadata: { ...child.metadata, resourceVersion: version } }) as KubeObject,
      )
    const shown = { controller: parent, parent, related: children }
    settled.record({ shown: { ...shown, children }, response: 'r', isSettled: true })
    settled.record({ shown: { ...shown, children: at('x', { a: 'b' }) }, response: 'r', isSettled: false })
    expect(settled.isRestored({ ...shown, children: at('y', {}) })).toBe(true)
  })
})

/** Selectors of as many parents: each requires a label that all have, and one of its own. */
const selectors = (size: number): ReturnType<typeof selectorFrom>[] =>
  times(size, (at) => selectorFrom({ matchLabels: { app: 'fleet', fleet: `f-${at}` } }))
const orphan = (at: number, namespace: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `o-${at}`, namespace, labels: { app: 'fleet', fleet: `f-${at}` } },
})

test.each(['default', undefined])('an orphan finds its parent among many (in namespace %s)', async (namespace) => {
  const adopting = new AdoptingParents()
  await expectSlowGrowth((size) => {
    for (const [at, selector] of selectors(size).entries()) adopting.set(`${at}`, namespace, selector)
    expect(times(size, (at) => adopting.of(orphan(at, 'default')))).toEqual(times(size, (at) => [`${at}`]))
    for (let at = 0; at < size; at++) adopting.delete(`${at}`)
  })
  expect(adopting.of(orphan(0, 'default'))).toEqual([])
})

test('a parent finds its orphans among many, in its namespace or anywhere', async () => {
  await using server = await ApiServer.start({ storage: memory(), controllers: [] })
  const client = server.client()
  await using pool = new InformerPool(client, client.clock)
  for (const size of [20, 200, 400, 800]) {
    const namespace = `n-${size}`
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    await Promise.all(times(size, (at) => client.create(orphan(at, namespace))))
  }
  using used = useKind(pool, kind, undefined)
  const { informer } = used
  for (const namespaced of [true, false]) indexOrphans(informer, { namespaced })
  await informer.waitForState()
  const names = (of: string | undefined, selector?: ReturnType<typeof selectorFrom>): string[] =>
    orphansFor(informer.lastKnown, of, selector).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  await expectSlowGrowth((size) => {
    const found = selectors(size).map((selector) => names(`n-${size}`, selector))
    expect(found).toEqual(times(size, (at) => [`n-${size}/o-${at}`]))
  })
  expect(names(undefined, selectorFrom({ matchLabels: { fleet: 'f-5' } })).toSorted()).toEqual(
    ['n-20/o-5', 'n-200/o-5', 'n-400/o-5', 'n-800/o-5'].toSorted(),
  )
  const some = selectorFrom({ matchExpressions: [{ key: 'fleet', operator: 'In', values: ['f-1', 'f-2'] }] })
  expect(names('n-20', some)).toEqual(['n-20/o-1', 'n-20/o-2'])
  expect(names('n-20').length).toBe(20)
  expect([...informer.lastKnown.values()].some((object) => controllerOf(object) !== undefined)).toBe(false)
})
