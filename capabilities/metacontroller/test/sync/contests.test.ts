// Two controllers with the same parents and the same child kind.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { Contests } from '../../src/children/contests.ts'
import { configMaps, controller, fleet, hook, set, ship, stage, useHook } from './fleet.ts'

const child = (name: string): KubeObject => ({ ...configMaps, metadata: { name, namespace: 'default' } })

describe('writes of children', () => {
  const wrote = (contests: Contests, writers: string, now = 0): (string | undefined)[] =>
    [...writers].map(
      (writer) => contests.wrote(writer, { op: 'create', before: undefined, after: child('x') }, now)?.other,
    )

  test.each([
    ['by one controller', 'aaaaaa', undefined],
    ['that are handed over once', 'aaabbb', undefined],
    ['by two controllers in turn', 'ababab', 'b'],
  ])('%s', (_title, writers, other) => {
    expect(wrote(new Contests(), writers).find((found) => found !== undefined)).toBe(other)
  })

  test('by two controllers are reported once in ten minutes', () => {
    const contests = new Contests()
    const reports = (now: number): number =>
      wrote(contests, 'abababab', now).filter((found) => found !== undefined).length
    expect([reports(0), reports(1000), reports(600_000)]).toEqual([1, 0, 1])
  })

  test('that are rare are no contest', () => {
    const contests = new Contests()
    const found = [...'abababab'].map((writer, hour) => wrote(contests, writer, hour * 3_600_000)[0])
    expect(found.every((one) => one === undefined)).toBe(true)
  })
})

describe('two controllers that undo each other', () => {
  useHook()

  test('are named in events of the parent and of a controller', async () => {
    hook.reply = ({ path }) => {
      // An end of the contest, or the cluster would never be idle.
      if (hook.calls.length > 60) return { body: { children: [] } }
      return { body: { children: [ship(path === '/first' ? 'a' : 'b')] } }
    }
    const named = (name: string): KubeObject => ({
      ...controller({ hooks: { sync: { webhook: { url: `${hook.url}/${name}` } } } }),
      metadata: { name },
    })
    await set({}, fleet([]))
    await Promise.all([named('first'), named('second')].map((one) => stage.during(stage.client.apply(one))))
    await stage.pass(60)
    const { items } = await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })
    const warnings = items.filter((event) => (event as { reason?: string }).reason === 'ConflictingControllers')
    const about = warnings.map((event) => (event as unknown as { regarding: KubeObject }).regarding.kind)
    expect(about.toSorted()).toEqual(['CompositeController', 'Fleet'])
    const { note } = warnings[0] as unknown as { readonly note: string }
    expect(note).toMatch(
      /^CompositeController (first|second) and CompositeController (first|second) undo each other's writes of ConfigMap/,
    )
  })
})
