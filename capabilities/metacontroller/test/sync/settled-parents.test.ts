// The call that is left out after a child was written back (ADR 0105): decisions over objects, then on a server.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import type { ShownObjects } from '../../src/sync/settled-parents.ts'
import { SettledParents } from '../../src/sync/settled-parents.ts'
import {
  configMaps,
  controller,
  decorator,
  fleet,
  fleetResponse,
  hook,
  requestOf,
  set,
  ship,
  stage,
  useHook,
} from './fleet.ts'

describe('a request shows a hook what it was shown before', () => {
  const object = (name: string, resourceVersion: number, fields: object = {}, metadata: object = {}): KubeObject =>
    ({
      ...configMaps,
      metadata: { name, uid: name, resourceVersion: `${resourceVersion}`, generation: 1, ...metadata },
      ...fields,
    }) as unknown as KubeObject
  const shown = (children: readonly KubeObject[], others: Partial<ShownObjects> = {}): ShownObjects => ({
    controller: object('c', 1),
    parent: object('p', 1),
    related: [object('r', 1)],
    children,
    ...others,
  })
  const [a, b] = [object('a', 1), object('b', 1)]
  const changed = object('a', 2, { data: { x: 'foreign' } }, { generation: 2 })
  const restored = object('a', 3, {}, { generation: 3 })
  const owner = { manager: 'm', operation: 'Update', time: '2026-01-01T00:00:00Z', fieldsV1: { 'f:data': {} } }

  interface Case {
    readonly title: string
    readonly first?: readonly KubeObject[]
    readonly second?: readonly KubeObject[]
    readonly third?: readonly KubeObject[]
    readonly others?: Partial<ShownObjects>
    readonly response?: string
    readonly isRestored: boolean
  }
  const cases: readonly Case[] = [
    { title: 'when a child was written back', isRestored: true },
    { title: 'with its children in another order', third: [b, restored], isRestored: true },
    { title: 'unless it responded differently to the change', response: 'R2', isRestored: false },
    {
      title: 'unless a field differs from before',
      third: [object('a', 3, { status: { ready: true } }, { generation: 3 }), b],
      isRestored: false,
    },
    {
      title: 'unless the generation changed only with the write',
      second: [object('a', 2, { data: { x: 'foreign' } }), b],
      isRestored: false,
    },
    {
      title: 'unless another manager owns a field now',
      third: [object('a', 3, {}, { generation: 3, managedFields: [owner] }), b],
      isRestored: false,
    },
    {
      title: 'and the times of its managers do not count',
      first: [object('a', 1, {}, { managedFields: [owner] }), b],
      third: [object('a', 3, {}, { generation: 3, managedFields: [{ ...owner, time: '2026-01-02T00:00:00Z' }] }), b],
      isRestored: true,
    },
    {
      title: 'unless a child that it did not see changed has another version',
      third: [restored, object('b', 5)],
      isRestored: false,
    },
    { title: 'unless a child was made anew', third: [object('a', 3, {}, { uid: 'a2' }), b], isRestored: false },
    { title: 'unless a child is missing', third: [restored], isRestored: false },
    { title: 'unless there is a new child', third: [restored, b, object('d', 4)], isRestored: false },
    { title: 'unless the parent changed', others: { parent: object('p', 4) }, isRestored: false },
    {
      title: 'unless the controller changed',
      others: { controller: object('c', 4, {}, { generation: 2 }) },
      isRestored: false,
    },
    {
      title: 'and reports of the controller do not count',
      others: { controller: object('c', 4, { status: { parents: 1 } }) },
      isRestored: true,
    },
    { title: 'unless a related object changed', others: { related: [object('r', 4)] }, isRestored: false },
    { title: 'unless a related object was deleted', others: { related: [] }, isRestored: false },
  ]

  test.each(cases)(
    '$title',
    ({ first = [a, b], second = [changed, b], third = [restored, b], others, response = 'R', isRestored }) => {
      const settled = new SettledParents()
      settled.record({ shown: shown(first), response: 'R', isSettled: true })
      settled.record({ shown: shown(second), response, isSettled: false })
      expect(settled.isRestored(shown(third, others))).toBe(isRestored)
      expect(settled.isRestored(shown(third, others))).toBe(false)
    },
  )

  test.each<readonly [string, Partial<ShownObjects>, string, boolean]>([
    ['while the response is the same', {}, 'R', true],
    ['unless the response differs', {}, 'S', false],
    ['unless the parent changed: its selector and labels decide, too', { parent: object('p', 4) }, 'R', false],
    ['unless the controller changed', { controller: object('c', 4, {}, { generation: 2 }) }, 'R', false],
    ['unless it is another parent', { parent: object('q', 1) }, 'R', false],
  ])('children that are as they were need no comparison, %s', (_title, others, response, isSame) => {
    const settled = new SettledParents()
    settled.record({ shown: shown([a, b]), response: 'R', isSettled: true })
    const found = settled.unchanged({ shown: shown([changed, b], others), response })
    expect([changed, b].map((child) => found.has(child))).toEqual([false, isSame])
    settled.forget('p')
    expect(settled.unchanged({ shown: shown([a, b]), response: 'R' }).size).toBe(0)
  })

  test('a sync that wrote leaves the children to be compared that it found changed', () => {
    const settled = new SettledParents()
    settled.record({ shown: shown([a, b]), response: 'R', isSettled: true })
    settled.record({ shown: shown([changed, b]), response: 'R', isSettled: false })
    const found = settled.unchanged({ shown: shown([restored, b]), response: 'R' })
    expect([changed, restored, b].map((child) => found.has(child))).toEqual([false, false, true])
  })

  test('not before a sync wrote, nor after the parent was forgotten, and again after the next change', () => {
    const settled = new SettledParents()
    expect(settled.isRestored(shown([a]))).toBe(false)
    settled.record({ shown: shown([a]), response: 'R', isSettled: true })
    expect(settled.isRestored(shown([a]))).toBe(false)
    for (const version of [3, 5]) {
      settled.record({
        shown: shown([object('a', version - 1, {}, { generation: version - 1 })]),
        response: 'R',
        isSettled: false,
      })
      expect(settled.isRestored(shown([object('a', version, {}, { generation: version })]))).toBe(true)
    }
    settled.record({ shown: shown([object('a', 6)]), response: 'R', isSettled: false })
    settled.forget('p')
    expect(settled.isRestored(shown([object('a', 7)]))).toBe(false)
  })
})

describe('a child that another client changed', () => {
  useHook()

  /** Changes a child and lets it be set back; returns the flags that the hook was shown. */
  async function disturb(name = 'a'): Promise<readonly (string | undefined)[]> {
    await stage.pass(3)
    hook.calls.length = 0
    await stage.client.patch(configMaps, `default/${name}`, { merge: { data: { flag: 'foreign' } } })
    await stage.pass(3)
    const children = hook.calls.map((call) => {
      const { children: own, attachments } = requestOf(call)
      return { ...own?.['ConfigMap.v1'], ...attachments?.['ConfigMap.v1'] }[name] as KubeObject & { data?: JsonObject }
    })
    const after = (await stage.client.get(configMaps, `default/${name}`)) as KubeObject & { data?: JsonObject }
    expect(after.data?.['flag']).toBe('none')
    return children.map((child) => child.data?.['flag'] as string | undefined)
  }

  test.each(['dynamic-apply', 'server-side-apply'])('is one call, each time (%s)', async (strategy) => {
    await set({ settings: { 'apply-strategy': strategy } }, controller(), fleet(['a', 'b']))
    expect([await disturb(), await disturb(), await disturb('b')]).toEqual([['foreign'], ['foreign'], ['foreign']])
    // A change of the parent is shown with what it made of the children, as ever.
    hook.calls.length = 0
    await stage.apply(fleet(['a', 'b'], { flag: 'red' }))
    await stage.pass(3)
    const flags = hook.calls.map(
      (call) => requestOf(call).children['ConfigMap.v1']?.['a'] as KubeObject & { data: JsonObject },
    )
    expect(flags.map(({ data }) => data['flag'])).toEqual(['none', 'red'])
  })

  test('is one call of a decorator', async () => {
    const spec = {
      resources: [{ apiVersion: 'harbour.example.com/v1', resource: 'fleets' }],
      attachments: [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }],
      hooks: { sync: { webhook: { url: `${hook.url}/decorate` } } },
    }
    hook.reply = () => ({ body: { attachments: [ship('a')] } })
    await set({}, { ...decorator, metadata: { name: 'pilots' }, spec } as unknown as KubeObject, fleet([]))
    expect(await disturb()).toEqual(['foreign'])
  })

  const inPlace = (): object => controller().spec as unknown as object
  const seen = (call: Parameters<typeof requestOf>[0]): readonly KubeObject[] =>
    Object.values(requestOf(call).children['ConfigMap.v1'] ?? {})
  test.each<readonly [string, object, (call: Parameters<typeof requestOf>[0]) => object]>([
    [
      'whose status has the versions of children',
      {},
      (call) => ({ status: { of: seen(call).map(({ metadata }) => metadata.resourceVersion) } }),
    ],
    [
      'whose status has the content of children',
      {},
      (call) => ({ status: { of: seen(call).map(({ data }) => data as JsonObject) } }),
    ],
    ['that asks to be called again', {}, () => ({ resyncAfterSeconds: 900 })],
    ['that records events', {}, () => ({ events: [{ reason: 'Seen', message: 'a child' }] })],
    ['with a resync period', { resyncPeriodSeconds: 900 }, () => ({})],
  ])('is shown written back to a hook %s', async (_title, spec, more) => {
    hook.reply = (call) => ({ body: { ...fleetResponse(requestOf(call)), ...more(call) } })
    await set({}, controller({ ...inPlace(), ...spec }), fleet(['a', 'b']))
    expect((await disturb()).slice(0, 2)).toEqual(['foreign', 'none'])
  })

  test('is shown written back when it was deleted in between: the new one has another uid', async () => {
    hook.reply = () => ({ body: { children: [ship('a')] } })
    await set({}, controller(), fleet(['a']))
    await stage.pass(3)
    hook.calls.length = 0
    await stage.client.delete(configMaps, 'default/a')
    await stage.pass(3)
    expect(hook.calls.map((call) => seen(call).length)).toEqual([0, 1])
  })
})
