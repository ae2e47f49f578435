// The memory of large responses, over all calls of a client.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { HookClient, ResponseReservation } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import { afterEach, expect, test } from 'vitest'

const MiB = 1024 * 1024
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** Starts a hook whose responses have the size that the path names, in MiB. */
async function sizedHook(): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    // Without an end in the same call there is no Content-Length.
    if (url.endsWith('chunked')) response.write('')
    response.end('x'.repeat(Number.parseFloat(url.slice(1)) * MiB))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function hookClient(clock = new FakeClock()): HookClient {
  const client = new HookClient({ clock, maxBytesInUse: 10 * MiB })
  closing.push(() => client[Symbol.asyncDispose]())
  return client
}

/** Exchanges small responses with the hook: whatever else was on its way has arrived then. */
async function rest(client: HookClient, url: string): Promise<void> {
  for (let turn = 0; turn < 10; turn++) {
    await client.call({ url: `${url}/0.5` }, { body: {} })
    await setImmediate()
  }
}

test('a large response waits until others are disposed, in the order of arrival; small ones never wait', async () => {
  const url = await sizedHook()
  const client = hookClient()
  const ended: string[] = []
  const call = async (name: string, size: number): Promise<ResponseReservation> => {
    const reservation = new ResponseReservation()
    const { bytesReceived } = await client.call({ url: `${url}/${size}` }, { body: {}, reservation })
    ended.push(`${name} ${bytesReceived / MiB}`)
    return reservation
  }
  const first = await call('first', 6)
  const second = call('second', 8)
  await rest(client, url)
  const third = call('third', 2)
  await rest(client, url)
  expect(ended).toEqual(['first 6'])
  first[Symbol.dispose]()
  const held = await second
  await third
  expect(ended.toSorted()).toEqual(['first 6', 'second 8', 'third 2'])
  held[Symbol.dispose]()
})

test('work that holds a response gets the next one at once, and a response larger than the budget is served alone', async () => {
  const url = await sizedHook()
  const client = hookClient()
  using reservation = new ResponseReservation()
  for (const size of [12, 4])
    expect((await client.call({ url: `${url}/${size}` }, { body: {}, reservation })).bytesReceived / MiB).toBe(size)
})

test('a call that waits for memory does not reach its time limit, and ends when it is aborted', async () => {
  const url = await sizedHook()
  const clock = new FakeClock()
  const client = hookClient(clock)
  const first = new ResponseReservation()
  await client.call({ url: `${url}/9` }, { body: {}, reservation: first })
  const [patient, aborted] = [new ResponseReservation(), new AbortController()]
  const waiting = client.call({ url: `${url}/3`, timeout: 1000 }, { body: {}, reservation: patient })
  const cancelled = client.call({ url: `${url}/3` }, { body: {}, signal: aborted.signal })
  await rest(client, url)
  await clock.advance(5000)
  aborted.abort(new Error('stopped'))
  await expect(cancelled).rejects.toThrow('stopped')
  first[Symbol.dispose]()
  expect((await waiting).bytesReceived).toBe(3 * MiB)
})

test('a response of unknown length reserves 8 MiB first, and counts as the largest once it has more', async () => {
  const url = await sizedHook()
  const client = hookClient()
  const call = async (path: string): Promise<ResponseReservation> => {
    const reservation = new ResponseReservation()
    await client.call({ url: `${url}/${path}` }, { body: {}, reservation })
    return reservation
  }
  // 10 MiB are the budget: 8 and 2 fit.
  const [small, beside] = [await call('2/chunked'), await call('2')]
  small[Symbol.dispose]()
  const large = await call('9/chunked')
  let isRead = false
  const next = call('2').then((reservation) => {
    isRead = true
    return reservation
  })
  beside[Symbol.dispose]()
  await rest(client, url)
  expect(isRead).toBe(false)
  large[Symbol.dispose]()
  ;(await next)[Symbol.dispose]()
})

test('without a reservation the memory is free when the call ends', async () => {
  const url = await sizedHook()
  const client = hookClient()
  for (let turn = 0; turn < 3; turn++)
    expect((await client.call({ url: `${url}/9` }, { body: {} })).bytesReceived).toBe(9 * MiB)
})
