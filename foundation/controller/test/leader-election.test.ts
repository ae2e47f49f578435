import { ApiServer } from '@fairlead/apiserver'
import { Client, Lease } from '@fairlead/client'
import { LeaderElection, Manager, silentLogger } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { recorded } from '../../../test/support/recorded-client.ts'
import { turns, until } from '../../../test/support/until.ts'

const lease = { namespace: 'kube-system', name: 'test' }

/** Lets seconds pass one by one, with what is under way in between. */
async function pass(clock: FakeClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000)
    await turns()
  }
}

describe('leader election', () => {
  test('the first candidate leads, the second when the first releases the lease or stops renewing', async () => {
    await using server = await ApiServer.start({ controllers: false })
    const clock = new FakeClock()
    const election = (identity: string): LeaderElection =>
      new LeaderElection(
        { ...lease, identity },
        {
          client: new Client({ transport: server.client().transport, clock }),
          clock,
          random: () => 0,
          log: silentLogger,
        },
      )
    const stop = new AbortController()
    const [a, b, c] = [election('a'), election('b'), election('c')]
    await a.acquire(stop.signal)
    const held = a.hold(stop.signal)
    const waiting = b.acquire(stop.signal)
    for (let i = 0; i < 30; i++) await clock.advance(2000)
    expect([a.leads, b.leads, b.holder]).toEqual([true, false, 'a'])
    // Either promise may settle first; a rejection without a handler would fail the run.
    const given = waiting.catch(() => {})
    stop.abort()
    expect(await held).toBe('stopped')
    await given
    await a.release()
    const seconds = new AbortController()
    const taken = b.acquire(seconds.signal)
    for (let i = 0; i < 3 && !b.leads; i++) await clock.advance(2000)
    await taken
    const { spec } = await server.client().get(Lease, 'kube-system/test')
    expect([a.leads, b.leads, spec]).toMatchObject([
      false,
      true,
      { holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 1 },
    ])
    // b never renews again: c sees no change for 15 s, by its own clock.
    const third = c.acquire(seconds.signal)
    await turns()
    await clock.advance(14_000)
    expect(c.leads).toBe(false)
    for (let i = 0; i < 3 && !c.leads; i++) await clock.advance(2000)
    await third
    expect((await server.client().get(Lease, 'kube-system/test')).spec?.holderIdentity).toBe('c')
  })

  test('a leader renews with one request, and reads the Lease again when another client has written it', async () => {
    await using server = await ApiServer.start({ controllers: false })
    const clock = new FakeClock()
    const { client, transport } = recorded(server.client(), clock)
    const election = new LeaderElection(
      { ...lease, identity: 'a' },
      { client, clock, random: () => 0, log: silentLogger },
    )
    const stop = new AbortController()
    await election.acquire(stop.signal)
    const held = election.hold(stop.signal)
    const requests = async (seconds: number): Promise<string[]> => {
      transport.take()
      await pass(clock, seconds)
      return transport.take().map((request) => request.split(' ')[0]!)
    }
    expect(await requests(6)).toEqual(['PUT', 'PUT', 'PUT'])
    await server.client().patch(Lease, 'kube-system/test', { merge: { metadata: { labels: { written: 'yes' } } } })
    expect(await requests(4)).toEqual(['PUT', 'GET', 'PUT', 'PUT'])
    await server.client().delete(Lease, 'kube-system/test')
    expect(await requests(4)).toEqual(['PUT', 'GET', 'POST', 'PUT'])
    const { metadata, spec } = await server.client().get(Lease, 'kube-system/test')
    await server.client().update({
      ...(await server.client().get(Lease, 'kube-system/test')),
      metadata,
      spec: { ...spec, holderIdentity: 'b' },
    })
    expect(await requests(2)).toEqual(['PUT', 'GET'])
    expect(await held).toBe('lost')
  })

  test('a leader that cannot renew for 10 s steps down', async () => {
    await using server = await ApiServer.start({ controllers: false })
    const clock = new FakeClock()
    const { client, transport } = recorded(server.client(), clock)
    const election = new LeaderElection(
      { ...lease, identity: 'a' },
      { client, clock, random: () => 0, log: silentLogger },
    )
    await election.acquire(AbortSignal.any([]))
    const held = election.hold(AbortSignal.any([]))
    await pass(clock, 20)
    expect(election.leads).toBe(true)
    transport.instead = () => ({ status: 500, headers: {}, body: 'down', warnings: [] })
    let outcome: string | undefined
    void held.then((how) => (outcome = how))
    await pass(clock, 7)
    expect(outcome).toBe(undefined)
    await pass(clock, 5)
    expect([outcome, election.leads]).toEqual(['lost', false])
  })

  test('a leader whose renewal response is late steps down: other candidates count from the request', async () => {
    await using server = await ApiServer.start({ controllers: false })
    const clock = new FakeClock()
    const { client, transport } = recorded(server.client(), clock)
    const election = new LeaderElection(
      { ...lease, identity: 'a' },
      { client, clock, random: () => 0, log: silentLogger },
    )
    await election.acquire(AbortSignal.any([]))
    const held = election.hold(AbortSignal.any([]))
    let answer = (): void => {}
    transport.after = () => new Promise<void>((resolve) => (answer = resolve))
    await pass(clock, 12)
    answer()
    expect([await held, election.leads]).toEqual(['lost', false])
  })

  test('a lease is released although a renewal was aborted after the server had stored it', async () => {
    await using server = await ApiServer.start({ controllers: false })
    const clock = new FakeClock()
    const { client, transport } = recorded(server.client(), clock)
    const election = new LeaderElection(
      { ...lease, identity: 'a' },
      { client, clock, random: () => 0, log: silentLogger },
    )
    await election.acquire(AbortSignal.any([]))
    const stop = new AbortController()
    const held = election.hold(stop.signal)
    transport.after = ({ method }) => {
      if (method !== 'PUT') return
      transport.after = () => {}
      stop.abort()
      stop.signal.throwIfAborted()
    }
    await pass(clock, 3)
    expect(await held).toBe('stopped')
    await election.release()
    expect((await server.client().get(Lease, 'kube-system/test')).spec?.holderIdentity).toBe('')
  })

  test('only the leading manager works, and the other continues after it', async () => {
    await using server = await ApiServer.start({ controllers: false })
    const clock = new FakeClock()
    const seen: string[] = []
    const manager = (identity: string): Promise<Manager> =>
      Manager.start({
        client: new Client({ transport: server.client().transport, clock }),
        clock,
        random: () => 0,
        leaderElection: { ...lease, identity },
        setup: (of) =>
          of
            .controller('test')
            .for({ apiVersion: 'v1', kind: 'Namespace' }, { fieldSelector: 'metadata.name=default' })
            .reconcile(() => void seen.push(identity)),
      })
    const first = await manager('a')
    await until('a leads', () => first.leads && seen.length === 1)
    const second = await manager('b')
    await clock.advance(10_000)
    expect([second.leads, seen]).toEqual([false, ['a']])
    await first.stop()
    for (let i = 0; i < 5 && !second.leads; i++) await clock.advance(2000)
    await until('b worked', () => seen.length === 2)
    expect(seen).toEqual(['a', 'b'])
    await second.stop()
    expect((await server.client().get(Lease, 'kube-system/test')).spec?.holderIdentity).toBe('')
  })

  test('a manager that follows another works while that one leads, and stops when it lost the lease', async () => {
    await using server = await ApiServer.start({ controllers: false })
    const clock = new FakeClock()
    const seen: string[] = []
    const { client, transport } = recorded(server.client(), clock)
    const foreign = (holderIdentity: string): Lease => ({
      apiVersion: Lease.apiVersion,
      kind: Lease.kind,
      metadata: { ...lease },
      spec: { holderIdentity, leaseDurationSeconds: 15 },
    })
    await client.create(foreign('other'))
    let lost = 0
    await using leader = await Manager.start({
      client,
      clock,
      random: () => 0,
      onLeadershipLost: () => lost++,
      leaderElection: { ...lease, identity: 'a' },
    })
    const follower = await Manager.start({
      client,
      clock,
      random: () => 0,
      follows: leader,
      setup: (of) =>
        of
          .controller('test')
          .for({ apiVersion: 'v1', kind: 'Namespace' }, { fieldSelector: 'metadata.name=default' })
          .reconcile(() => void seen.push(of.identity)),
    })
    await turns()
    expect([leader.leads, follower.leads, seen]).toEqual([false, false, []])
    await pass(clock, 20)
    await until('the follower worked', () => seen.length === 1)
    expect([leader.leads, follower.leads, seen]).toEqual([true, true, ['a']])
    transport.instead = ({ path }) =>
      path.includes('/leases/') ? { status: 500, headers: {}, body: 'down', warnings: [] } : undefined
    await pass(clock, 12)
    expect([lost, leader.leads, follower.leads, follower.signal.aborted]).toEqual([1, false, false, true])
  })
})
