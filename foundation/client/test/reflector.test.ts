import { FakeClock, expired } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { ClientError, Reflector, WatchCache } from '@fairlead/client'
import type { WatchChange, ReflectorEvent } from '@fairlead/client'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FaultySource } from './support/faulty-source.ts'
import type { Fault } from './support/faulty-source.ts'

/** Lets what has happened settle before time moves on, so that timers start when their cause did. */
async function pass(run: { readonly clock: FakeClock }, ms: number): Promise<void> {
  await run.clock.advance(0)
  await run.clock.advance(ms)
}

interface Run extends AsyncDisposable {
  readonly source: FaultySource
  readonly clock: FakeClock
  readonly view: WatchCache<KubeObject>
  readonly reflector: Reflector<KubeObject>
  readonly events: ReflectorEvent<KubeObject>[]
  readonly changes: WatchChange<KubeObject>[]
}

function start(
  options: { streaming?: boolean; pageSize?: number; prepare?: (source: FaultySource) => void } = {},
): Run {
  const source = new FaultySource()
  options.prepare?.(source)
  const clock = new FakeClock()
  const changes: WatchChange<KubeObject>[] = []
  const events: ReflectorEvent<KubeObject>[] = []
  const view = new WatchCache<KubeObject>((change) => changes.push(change))
  const listener = (event: ReflectorEvent<KubeObject>): void => {
    events.push(event)
    view.apply(event)
  }
  const reflector = new Reflector({
    source,
    listener,
    clock,
    random: () => 0.5,
    pageSize: options.pageSize,
    streaming: options.streaming,
  })
  const stop = new AbortController()
  const running = reflector.run(stop.signal)
  return {
    source,
    clock,
    view,
    reflector,
    events,
    changes,
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await running
    },
  }
}

const names = (objects: Iterable<KubeObject>): string[] => [...objects].map((object) => object.metadata.name!)
const told = (changes: readonly WatchChange<KubeObject>[]): string[] =>
  changes.map((change) => ('object' in change ? `${change.type} ${change.object.metadata.name}` : change.type))

describe('the watch state machine', () => {
  test('reads all pages, then follows changes', async () => {
    await using run = start({
      pageSize: 2,
      prepare: (source) => ['a', 'b', 'c', 'd', 'e'].forEach((name) => source.put(name)),
    })
    await run.clock.advance(0)
    expect([run.reflector.state, run.source.lists, run.source.watches]).toEqual(['Watching', 3, 1])
    run.source.put('b')
    run.source.remove('c')
    run.source.put('f')
    await run.clock.advance(0)
    expect(told(run.changes)).toEqual([
      'added a',
      'added b',
      'added c',
      'added d',
      'added e',
      'synced',
      'changed b',
      'removed c',
      'added f',
    ])
  })

  test('a watch that breaks is opened again from where it was, without a list', async () => {
    await using run = start({ prepare: (source) => source.put('a') })
    await pass(run, 5000)
    run.source.end('closed')
    run.source.put('b')
    await pass(run, 5000)
    run.source.end('broken')
    run.source.put('c')
    await pass(run, 60_000)
    expect([names(run.view.objects.values()), run.source.lists]).toEqual([['a', 'b', 'c'], 1])
    expect(run.events.map((event) => event.type)).toEqual([
      'listing',
      'replaced',
      'set',
      'interrupted',
      'resumed',
      'set',
    ])
  })

  test('an expired revision causes a relist that reports only the differences', async () => {
    await using run = start({ prepare: (source) => ['a', 'b', 'c'].forEach((name) => source.put(name)) })
    await pass(run, 5000)
    run.changes.length = 0
    run.source.hang(true)
    run.source.remove('a')
    run.source.put('b')
    run.source.put('d')
    run.source.expire()
    run.source.end('closed')
    await run.clock.advance(0)
    expect([told(run.changes), run.source.lists]).toEqual([['changed b', 'added d', 'removed a', 'synced'], 2])
  })

  test('an object that was deleted and recreated in a gap is reported as removed and added', async () => {
    await using run = start({ prepare: (source) => source.put('a') })
    await pass(run, 5000)
    run.changes.length = 0
    run.source.hang(true)
    run.source.remove('a')
    run.source.put('a')
    run.source.expire()
    run.source.end('closed')
    await run.clock.advance(0)
    expect(told(run.changes)).toEqual(['removed a', 'added a', 'synced'])
  })

  test.each<[Fault, string]>([
    ['forbidden', 'Forbidden'],
    ['absent', 'Absent'],
    ['lost', 'Failed'],
    ['server-error', 'Failed'],
  ])('a list that fails as %s is told as %s and tried again; waking ends the wait', async (fault, reason) => {
    await using run = start({ prepare: (source) => source.failNext(fault, fault) })
    await run.clock.advance(0)
    expect(run.events).toEqual([{ type: 'interrupted', reason, error: expect.any(Error), retryIn: expect.any(Number) }])
    run.reflector.wake()
    await run.clock.advance(0)
    expect(run.source.lists).toBe(2)
    await pass(run, 10_000)
    expect(run.events.map((event) => event.type)).toEqual([
      'interrupted',
      'interrupted',
      'listing',
      'replaced',
      'resumed',
    ])
  })

  test('a continue token that expires between pages causes one unpaged list', async () => {
    await using run = start({ pageSize: 1, prepare: (source) => ['a', 'b', 'c'].forEach((name) => source.put(name)) })
    const list = run.source.list.bind(run.source)
    run.source.list = async (request) => {
      if (request.continue !== undefined) run.source.expire()
      return list(request)
    }
    await run.clock.advance(0)
    expect([names(run.view.objects.values()), run.source.lists]).toEqual([['a', 'b', 'c'], 3])
  })

  test('objects of a broken list that were deleted before the next list are removed', async () => {
    await using run = start({ pageSize: 1, prepare: (source) => ['a', 'b', 'c'].forEach((name) => source.put(name)) })
    await pass(run, 5000)
    run.changes.length = 0
    const list = run.source.list.bind(run.source)
    let broken = false
    run.source.list = async (request) => {
      if (request.continue !== undefined && !broken) {
        broken = true
        run.source.remove('a')
        throw new ClientError('ConnectionFailed', 'no answer')
      }
      return list(request)
    }
    run.source.hang(true)
    run.source.put('d')
    run.source.expire()
    run.source.end('closed')
    await pass(run, 60_000)
    expect([names(run.view.objects.values()), told(run.changes)]).toEqual([
      ['b', 'c', 'd'],
      ['interrupted', 'added d', 'removed a', 'synced'],
    ])
  })

  test.each([
    ['pages of any size', { pageSize: 0 }],
    ['streams', { streaming: true }],
  ])('large lists are told in pieces, with turns for others in between (%s)', async (_, options) => {
    await using run = start({
      ...options,
      prepare: (source) => Array.from({ length: 1200 }, (_each, index) => source.put(`n${index}`)),
    })
    await run.clock.advance(0)
    await expect.poll(() => run.reflector.state).toBe('Watching')
    const sizes = run.events.map((event) => ('objects' in event ? event.objects.length : event.type))
    expect([sizes, run.view.objects.size]).toEqual([['listing', 500, 500, 200], 1200])
  })

  test('an idle connection is closed after the bookmark interval', async () => {
    await using run = start({ prepare: (source) => source.put('a') })
    await pass(run, 1000)
    run.source.bookmark()
    await pass(run, 1000)
    run.source.hang(true)
    run.source.put('b')
    await pass(run, 148_000)
    expect(run.source.watches).toBe(1)
    await pass(run, 2000)
    expect([run.source.watches, names(run.view.objects.values())]).toEqual([2, ['a', 'b']])
  })

  test('an idle connection without bookmarks is closed when the server should have ended it', async () => {
    await using run = start()
    await run.clock.advance(0)
    run.source.hang(true)
    run.source.put('b')
    await pass(run, 400_000)
    expect([run.source.watches, names(run.view.objects.values())]).toEqual([2, ['b']])
  })

  test('watches that end at once are reopened with backoff', async () => {
    await using run = start()
    run.source.watch = async () => {
      run.source.watches++
      return (async function* () {})()
    }
    await pass(run, 120_000)
    expect(run.source.watches).toBeLessThan(12)
  })

  test('a server whose every watch is expired is not flooded', async () => {
    await using run = start()
    run.source.watch = async () => {
      run.source.watches++
      run.source.expire()
      throw expired('too old resource version')
    }
    await pass(run, 120_000)
    expect(run.source.lists).toBeLessThan(14)
  })

  test('streaming lists are one request; without them pages are read', async () => {
    const prepare = (source: FaultySource): void => ['a', 'b'].forEach((name) => source.put(name))
    await using offered = start({ streaming: true, prepare })
    await offered.clock.advance(0)
    offered.source.put('c')
    await offered.clock.advance(0)
    expect([told(offered.changes), offered.source.lists, offered.source.watches]).toEqual([
      ['added a', 'added b', 'synced', 'added c'],
      0,
      1,
    ])
    await using refused = start({
      streaming: true,
      prepare: (source) => {
        prepare(source)
        source.streamingOffered = false
      },
    })
    await refused.clock.advance(0)
    expect([told(refused.changes), refused.source.lists, refused.source.watches]).toEqual([
      ['added a', 'added b', 'synced'],
      1,
      2,
    ])
  })

  test('streaming lists that break before they are complete fall back to pages', async () => {
    const prepare = (source: FaultySource): void => {
      for (const name of ['a', 'b']) source.put(name)
      const watch = source.watch.bind(source)
      source.watch = async (request, signal) => {
        if (!request.initialEvents) return watch(request, signal)
        return (async function* () {
          yield { type: 'ADDED', object: source.objects.get('a')! } as const
          throw new ClientError('ConnectionFailed', 'the connection broke')
        })()
      }
    }
    await using run = start({ streaming: true, prepare })
    await pass(run, 20_000)
    expect([told(run.changes).filter((one) => one !== 'interrupted'), run.source.lists]).toEqual([
      ['added a', 'added b', 'synced'],
      1,
    ])
  })

  test('a server that ignores streaming lists is detected, and one that supports them may be idle afterwards', async () => {
    const prepare = (source: FaultySource): void => ['a', 'b'].forEach((name) => source.put(name))
    await using ignoring = start({
      streaming: true,
      prepare: (source) => {
        prepare(source)
        source.streamingIgnored = true
      },
    })
    await pass(ignoring, 30_000)
    await pass(ignoring, 0)
    expect([told(ignoring.changes), ignoring.source.lists]).toEqual([
      ['interrupted', 'added a', 'added b', 'synced'],
      1,
    ])
    await using honouring = start({ streaming: true, prepare })
    await pass(honouring, 200_000)
    expect([told(honouring.changes), honouring.source.watches]).toEqual([['added a', 'added b', 'synced'], 1])
  })

  test('a list or watch without a response is reported as an interruption until the response comes', async () => {
    await using run = start({ prepare: (source) => source.put('a') })
    await pass(run, 5000)
    const watch = run.source.watch.bind(run.source)
    const answer = Promise.withResolvers<void>()
    run.source.watch = async (request, signal) => {
      await answer.promise
      return watch(request, signal)
    }
    run.source.end('closed')
    await pass(run, 4900)
    expect(run.events.map((event) => event.type)).toEqual(['listing', 'replaced'])
    await pass(run, 200)
    expect(run.events.slice(2)).toEqual([
      { type: 'interrupted', reason: 'Failed', error: expect.objectContaining({ code: 'ResponseLate' }), retryIn: 0 },
    ])
    answer.resolve()
    await pass(run, 0)
    expect([run.events.at(-1)?.type, run.source.lists]).toEqual(['resumed', 1])
  })

  test('a watch that is never answered is sent again', async () => {
    await using run = start()
    await pass(run, 5000)
    const watch = run.source.watch.bind(run.source)
    let sent = 0
    run.source.watch = (request, signal) =>
      sent++ === 0
        ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
        : watch(request, signal)
    run.source.end('closed')
    await pass(run, 31_000)
    await pass(run, 0)
    expect([sent, run.events.at(-1)?.type]).toEqual([2, 'resumed'])
  })

  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constantFrom('put', 'remove'), name: fc.constantFrom('a', 'b', 'c', 'd', 'e') }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('closed', 'broken', 'expire', 'hang', 'unhang', 'delay', 'undelay', 'bookmark', 'wake'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('fail'),
        fault: fc.constantFrom<Fault>('lost', 'server-error', 'forbidden', 'absent'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat'), events: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.constantFrom(0, 1, 500, 5000, 200_000) }) },
  )

  const runs = Number(process.env['FAIRLEAD_WATCH_RUNS'] ?? 300)

  test(
    'whatever is dropped, delayed, repeated, closed or expired, the view converges to the list, and changes told lead from nothing to it',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 60, size: 'max' }),
          fc.boolean(),
          fc.nat(5),
          async (steps, streaming, existing) => {
            const prepare = (source: FaultySource): void =>
              ['a', 'b', 'c', 'd', 'e'].slice(0, existing).forEach((name) => source.put(name))
            await using run = start({ streaming, pageSize: 2, prepare })
            for (const one of steps) {
              if ('name' in one && one.do === 'put') run.source.put(one.name)
              else if ('name' in one) run.source.remove(one.name)
              else if ('fault' in one) run.source.failNext(one.fault)
              else if ('ms' in one) await pass(run, one.ms)
              else if ('events' in one) run.source.repeat(one.events)
              else if (one.do === 'closed' || one.do === 'broken') run.source.end(one.do)
              else if (one.do === 'expire') run.source.expire()
              else if (one.do === 'hang' || one.do === 'unhang') run.source.hang(one.do === 'hang')
              else if (one.do === 'delay' || one.do === 'undelay') run.source.delay(one.do === 'delay')
              else if (one.do === 'bookmark') run.source.bookmark()
              else run.reflector.wake()
            }
            run.source.heal()
            await pass(run, 600_000)
            const view = new Map([...run.view.objects].toSorted())
            expect(view).toEqual(new Map([...run.source.objects].toSorted()))
            expect(replay(run.changes)).toEqual(view)
          },
        ),
        { numRuns: runs },
      )
    },
    10_000 + 20 * runs,
  )
})

/** What someone knows who only heard the changes. */
function replay(changes: readonly WatchChange<KubeObject>[]): Map<string, KubeObject> {
  const known = new Map<string, KubeObject>()
  for (const change of changes) {
    if (change.type === 'added') {
      expect(known.has(change.object.metadata.name!)).toBe(false)
      known.set(change.object.metadata.name!, change.object)
    } else if (change.type === 'changed') {
      expect(known.get(change.object.metadata.name!)).toBe(change.previous)
      known.set(change.object.metadata.name!, change.object)
    } else if (change.type === 'removed') {
      expect(known.delete(change.object.metadata.name!)).toBe(true)
    }
  }
  return new Map([...known].toSorted())
}
