// The order of syncs after the start of a controller.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { FirstSyncs } from '../../src/sync/first-syncs.ts'
import { controller, fleet, fleetResponse, fleets, hook, requestOf, set, ship, stage, useHook } from './fleet.ts'

describe('after the start of a controller', () => {
  useHook()

  test('every parent gets its children before a hook is called about its own writes', async () => {
    const names = ['north', 'south', 'east', 'west']
    const called: string[] = []
    await set({}, ...names.map((name) => fleet([`${name}-a`, `${name}-b`], {}, { name })))
    hook.reply = (call) => {
      const request = requestOf(call)
      called.push(`${request.parent.metadata.name} ${Object.keys(request.children['ConfigMap.v1'] ?? {}).length}`)
      return { body: { ...fleetResponse(request), children: request.parent.spec.ships.map((name) => ship(name)) } }
    }
    await stage.apply(controller({ generateSelector: true, maxConcurrentCalls: 1 }))
    await stage.pass(2)
    expect(called.slice(0, 4)).toEqual(names.toSorted().map((name) => `${name} 0`))
    expect(new Set(called.slice(4))).toEqual(new Set(names.map((name) => `${name} 2`)))
  })
})

describe('the priority of a change', () => {
  const object = (resourceVersion: string, name = 'a'): KubeObject => ({
    ...fleets,
    metadata: { name, namespace: 'default', uid: name, resourceVersion },
  })
  const changed = (resourceVersion: string) =>
    ({ type: 'changed', object: object(resourceVersion), previous: object('1'), initial: false }) as const
  const kind = { group: 'harbour.example.com', kind: 'Fleet' }
  const key = { namespace: 'default', name: 'a' }
  const starting = (): FirstSyncs => {
    const syncs = new FirstSyncs(() => object('1'))
    syncs.add('late')
    return syncs
  }

  test('is low when the parent itself wrote it, before or after the response, while others wait for their first sync', () => {
    const syncs = starting()
    let corrections = 0
    const observer = syncs.observer('p', () => corrections++)!
    const ticket = observer.begin(kind, key)
    expect(syncs.priorityOf('p', changed('7'))).toBe('low')
    ticket.wrote(object('7'))
    observer.begin(kind, key).wrote(object('8'))
    expect(syncs.priorityOf('p', changed('8'))).toBe('low')
    expect(corrections).toBe(0)
  })

  test('is corrected when a change that came during the write was made by others', () => {
    const syncs = starting()
    let corrections = 0
    const ticket = syncs.observer('p', () => corrections++)!.begin(kind, key)
    expect(syncs.priorityOf('p', changed('7'))).toBe('low')
    ticket.wrote(object('8'))
    expect(corrections).toBe(1)
  })

  test('is normal for what others wrote, for other parents, and when no parent waits any more', () => {
    const syncs = starting()
    syncs
      .observer('p', () => {})!
      .begin(kind, key)
      .wrote(object('8'))
    expect([syncs.priorityOf('p', changed('7')), syncs.priorityOf('q', changed('8'))]).toEqual(['normal', 'normal'])
    syncs.delete('late')
    expect(syncs.priorityOf('p', changed('8'))).toBe('normal')
    expect(syncs.observer('p', () => {})).toBeUndefined()
  })
})
