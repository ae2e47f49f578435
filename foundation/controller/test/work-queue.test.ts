import { FakeClock } from '@fairlead/kube'
import { WorkQueue, localRetry, remoteRetry } from '@fairlead/controller'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

function queueOf(options: { group?: (item: string) => string; maxPerGroup?: number } = {}): {
  queue: WorkQueue<string>
  clock: FakeClock
} {
  const clock = new FakeClock()
  return { clock, queue: new WorkQueue<string>({ id: (item) => item, clock, random: () => 0, ...options }) }
}

/** Takes and finishes everything that is ready, in order. */
async function takeAll(queue: WorkQueue<string>): Promise<string[]> {
  const taken: string[] = []
  while (queue.length > 0) {
    const item = (await queue.take())!
    taken.push(item)
    queue.done(item)
  }
  return taken
}

describe('the work queue', () => {
  test('an item that is added several times is taken once', async () => {
    const { queue } = queueOf()
    for (const item of ['a', 'b', 'a', 'a']) queue.add(item)
    expect(await takeAll(queue)).toEqual(['a', 'b'])
  })

  test('an item that is added while in work is taken once more afterwards', async () => {
    const { queue } = queueOf()
    queue.add('a')
    const item = (await queue.take())!
    queue.add('a')
    queue.add('a')
    const second = queue.take()
    let got = false
    void second.then(() => (got = true))
    await Promise.resolve()
    expect([got, queue.length]).toEqual([false, 1])
    queue.done(item)
    expect(await second).toBe('a')
    queue.done('a')
    expect(queue.length).toBe(0)
  })

  test('what is added between the taking and the begin of the work is part of that work', async () => {
    const { queue } = queueOf()
    const item = queue.take()
    queue.add('a')
    queue.add('a')
    expect(queue.length).toBe(1)
    queue.begin((await item)!)
    expect(queue.length).toBe(0)
    queue.add('a', 'low')
    queue.done('a')
    expect(await takeAll(queue)).toEqual(['a'])
    expect(() => queue.begin('a')).toThrow('Item a was not taken')
  })

  test('the earliest of several delays counts, and adding ends a delay', async () => {
    const { queue, clock } = queueOf()
    queue.addAfter('a', 5000)
    queue.addAfter('a', 1000)
    queue.addAfter('a', 9000)
    queue.addAfter('b', 500)
    queue.add('b')
    expect(await takeAll(queue)).toEqual(['b'])
    await clock.advance(999)
    expect(queue.length).toBe(0)
    await clock.advance(1)
    expect(await takeAll(queue)).toEqual(['a'])
    await clock.advance(20_000)
    expect([queue.length, queue.delayed]).toEqual([0, 0])
  })

  test('delayed items are taken in the order of their deadlines', async () => {
    const { queue, clock } = queueOf()
    for (const [item, ms] of [
      ['c', 300],
      ['a', 100],
      ['d', 400],
      ['b', 200],
    ] as const)
      queue.addAfter(item, ms)
    await clock.advance(400)
    expect(await takeAll(queue)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('changes take precedence over start-up work, and raise the priority of a queued item', async () => {
    const { queue } = queueOf()
    for (const item of ['a', 'b', 'c']) queue.add(item, 'low')
    queue.add('d')
    queue.add('c')
    expect(await takeAll(queue)).toEqual(['d', 'c', 'a', 'b'])
  })

  test('groups are served round-robin, each in FIFO order', async () => {
    const { queue } = queueOf({ group: (item) => item[0]! })
    for (const item of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) queue.add(item)
    expect(await takeAll(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4'])
  })

  test.each([
    { name: 'local', policy: localRetry, first: 5, last: 1_000_000 },
    { name: 'remote', policy: remoteRetry, first: 200, last: 60_000 },
  ])(
    '$name failures back off from $first ms to $last ms, each item for itself, until it is forgotten',
    ({ policy, first, last }) => {
      const { queue } = queueOf()
      expect([queue.retry('a', policy), queue.retry('a', policy), queue.retry('b', policy)]).toEqual([
        first,
        first * 2,
        first,
      ])
      for (let i = 0; i < 40; i++) queue.retry('a', policy)
      expect([queue.retry('a', policy), queue.failures('a')]).toEqual([last, 43])
      queue.forget('a')
      expect([queue.retry('a', policy), queue.failures('a')]).toEqual([first, 1])
    },
  )

  test('a group has no more items in work than its limit, and a worker that waits is served when one is done', async () => {
    const { queue } = queueOf({ group: (item) => item[0]!, maxPerGroup: 2 })
    for (const item of ['a1', 'a2', 'a3', 'b1']) queue.add(item)
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['a1', 'b1', 'a2'])
    const next = queue.take()
    let taken: string | undefined
    void next.then((item) => (taken = item))
    queue.done('b1')
    await Promise.resolve()
    expect(taken).toBeUndefined()
    queue.done('a1')
    expect(await next).toBe('a3')
  })

  test('Retry-After delays an item, and hurry ends its delay', async () => {
    const { queue, clock } = queueOf()
    expect(queue.retry('a', { ...remoteRetry, atLeast: 7000 })).toBe(7000)
    queue.hurry('a')
    queue.hurry('never-added')
    expect(await takeAll(queue)).toEqual(['a'])
    await clock.advance(10_000)
    expect(queue.length).toBe(0)
  })

  test('drain closes the queue and waits for items in work', async () => {
    const { queue } = queueOf()
    for (const item of ['a', 'b']) queue.add(item)
    queue.addAfter('c', 10)
    const item = (await queue.take())!
    let drained = false
    const draining = queue.drain().then(() => (drained = true))
    expect(await queue.take()).toBe(undefined)
    expect(drained).toBe(false)
    queue.done(item)
    await draining
    queue.add('d')
    expect([await queue.take(), queue.delayed]).toEqual([undefined, 0])
  })

  test('a waiting worker gets the next item, and undefined when the queue closes', async () => {
    const { queue } = queueOf()
    const [first, second] = [queue.take(), queue.take()]
    queue.add('a')
    queue.close()
    expect([await first, await second]).toEqual(['a', undefined])
  })

  const step = fc.oneof(
    fc.record({ do: fc.constantFrom('add', 'low', 'later', 'sooner'), item: fc.constantFrom('a1', 'a2', 'b1', 'c1') }),
    fc.record({ do: fc.constantFrom('take', 'done', 'advance') }),
  )

  test('no item is with two workers, none is lost, and none is taken without having been added', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const { queue, clock } = queueOf({ group: (item) => item[0]! })
        const working = new Set<string>()
        const asked = new Map<string, number>()
        const take = async (): Promise<void> => {
          if (![...asked].some(([item, at]) => at <= clock.now() && !working.has(item))) return
          const ready = (await queue.take())!
          expect(working.has(ready)).toBe(false)
          expect(asked.get(ready)).toBeLessThanOrEqual(clock.now())
          asked.delete(ready)
          working.add(ready)
        }
        const ask = (item: string, at: number): void => void asked.set(item, Math.min(asked.get(item) ?? Infinity, at))
        for (const one of steps) {
          if ('item' in one) {
            const delay = { add: 0, low: 0, later: 1000, sooner: 100 }[one.do]!
            ask(one.item, clock.now() + delay)
            if (delay > 0) queue.addAfter(one.item, delay)
            else queue.add(one.item, one.do === 'low' ? 'low' : 'normal')
          } else if (one.do === 'take') {
            await take()
          } else if (one.do === 'advance') {
            await clock.advance(300)
          } else {
            const [item] = working
            if (item === undefined) continue
            working.delete(item)
            queue.done(item)
          }
        }
        for (const item of working) queue.done(item)
        working.clear()
        await clock.advance(5000)
        expect((await takeAll(queue)).toSorted()).toEqual([...asked.keys()].toSorted())
      }),
    )
  })
})
