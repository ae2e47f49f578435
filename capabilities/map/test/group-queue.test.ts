import { FakeClock } from '@fairlead/kube'
import { GroupQueue } from '@fairlead/map'
import type { GroupRef } from '@fairlead/map'
import { describe, expect, it } from 'vitest'

const group = (name: string): GroupRef => ({ parent: name.split('/')[0] ?? '', mapKey: name.split('/')[1] ?? '' })

/** A queue whose groups run until they are told to end. */
function heldQueue(concurrency: number) {
  const clock = new FakeClock()
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const queue = new GroupQueue({
    clock,
    concurrency,
    run: ({ parent, mapKey }) => {
      started.push(`${parent}/${mapKey}`)
      return new Promise((resolve) => ends.set(`${parent}/${mapKey}`, resolve))
    },
  })
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await clock.advance(0)
  }
  return { queue, clock, started, end }
}

/** A queue whose groups end at once. */
function quickQueue(run: (ref: GroupRef, queue: GroupQueue) => void = () => {}) {
  const clock = new FakeClock()
  const started: string[] = []
  const queue: GroupQueue = new GroupQueue({
    clock,
    concurrency: 4,
    run: async (ref) => {
      started.push(`${ref.parent}/${ref.mapKey}`)
      run(ref, queue)
    },
  })
  return { queue, clock, started }
}

describe('GroupQueue', () => {
  it('lets parents take turns, however many groups each has', async () => {
    const { queue, started, end } = heldQueue(1)
    for (const name of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'c/2']) queue.add(group(name))
    for (let index = 0; index < 6; index++) await end(started.at(-1) ?? '')
    expect(started).toEqual(['a/1', 'a/2', 'b/1', 'c/1', 'a/3', 'c/2'])
  })

  it('runs no more groups at a time than allowed, and one slow group holds up no other', async () => {
    const { queue, started, end } = heldQueue(2)
    for (const name of ['a/slow', 'a/1', 'a/2', 'b/1']) queue.add(group(name))
    expect(started).toEqual(['a/slow', 'a/1'])
    await end('a/1')
    await end(started.at(-1) ?? '')
    await end(started.at(-1) ?? '')
    expect(started).toEqual(['a/slow', 'a/1', 'a/2', 'b/1'])
    expect(queue.busy).toBe(1)
  })

  it('runs a group once for many wishes, and once more when it is asked for while it runs', async () => {
    const { queue, started, end } = heldQueue(2)
    for (let index = 0; index < 5; index++) queue.add(group('a/1'))
    expect(started).toEqual(['a/1'])
    await end('a/1')
    expect(started).toEqual(['a/1', 'a/1'])
    await end('a/1')
    expect(queue.busy).toBe(0)
  })

  it('runs a group when its time has come, the newest wish of a reason counting', async () => {
    const { queue, clock, started } = quickQueue()
    queue.after(group('a/1'), 5_000, 'resync')
    queue.after(group('a/1'), 9_000, 'resync')
    queue.after(group('a/2'), 7_000, 'resyncAfter')
    await clock.advance(6_999)
    expect(started).toEqual([])
    await clock.advance(1)
    expect(started).toEqual(['a/2'])
    await clock.advance(2_000)
    expect(started).toEqual(['a/2', 'a/1'])
    expect(queue.waiting()).toEqual([])
  })

  it('lets nothing ask a group before its Retry-After, not even an event', async () => {
    const { queue, clock, started } = quickQueue()
    queue.after(group('a/1'), 7_000, 'retryAfter')
    queue.add(group('a/1'))
    await clock.advance(6_999)
    expect(started).toEqual([])
    await clock.advance(1)
    expect(started).toEqual(['a/1'])
  })

  it('counts failures in a row until a success', async () => {
    const counts: number[] = []
    const { queue, clock } = quickQueue((ref, own) => {
      counts.push(own.failed(ref))
      if (counts.length < 3) own.after(ref, 1_000, 'backoff')
      else own.succeeded(ref)
    })
    queue.add(group('a/1'))
    await clock.advance(5_000)
    queue.add(group('a/1'))
    await clock.advance(0)
    expect(counts).toEqual([1, 2, 3, 1])
  })

  it('brings forward what waits for a retry when told that its hook answers again', async () => {
    const { queue, clock, started } = quickQueue()
    queue.failed(group('a/1'))
    queue.after(group('a/1'), 60_000, 'backoff')
    queue.after(group('a/2'), 60_000, 'resync')
    queue.retryNow([group('a/1'), group('a/2'), group('a/3')])
    await clock.advance(0)
    expect(started).toEqual(['a/1'])
  })

  it('forgets the groups of a parent that is gone', async () => {
    const { queue, clock, started, end } = heldQueue(1)
    for (const name of ['a/1', 'b/1', 'b/2']) queue.add(group(name))
    queue.after(group('b/3'), 10, 'resync')
    queue.removeParent('b')
    await end('a/1')
    await clock.advance(100)
    expect(started).toEqual(['a/1'])
    await queue.whenIdle()
  })

  it('keeps the place of a group in the resync period when an event asks it sooner', async () => {
    const { queue, clock, started } = quickQueue()
    queue.after(group('a/1'), 5_000, 'resync')
    queue.add(group('a/1'))
    await clock.advance(4_999)
    expect(started).toEqual(['a/1'])
    await clock.advance(1)
    expect(started).toEqual(['a/1', 'a/1'])
  })
})
